// dyadic formats --svg: the numbers of each format as ticks on a line, each format scaled so that its largest is 1.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"
#include "base/json.h"
#include "cli/formats.h"
#include "formats/format.h"
#include "io/atomic_file.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr int kMostBits = 8;

std::vector<double> numbers(DType d) {
  const Format& f = *d.format();
  std::set<double> values;
  for (uint64_t code = 0; code < uint64_t{1} << f.def->bits; ++code)
    if (const double v = f.def->decode1(f, code); std::isfinite(v)) values.insert(v == 0 ? 0 : v);
  return {values.begin(), values.end()};
}

std::string line(DType d, double y, double left, double right) {
  const std::vector<double> values = numbers(d);
  const double most = std::max(std::fabs(values.front()), std::fabs(values.back()));
  std::string out =
      fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n<path class=\"axis\" d=\"M{} {}H{}\"/>\n", left - 12,
                  y + 4, d.is_scaled() ? d.format()->def->name : d.name(), left, y, right);
  std::string ticks;
  for (double v : values) ticks += fmt::format("M{:.2f} {}v14", left + (v / most + 1) / 2 * (right - left), y - 7);
  return out + fmt::format("<path class=\"tick\" d=\"{}\"/>\n<text class=\"note\" x=\"{}\" y=\"{}\">{} numbers</text>\n", ticks,
                           right + 12, y + 4, values.size());
}

}  // namespace

int draw_number_line(DType format, const std::string& file, bool json) {
  std::vector<DType> shown;
  for (DType d : format ? std::vector<DType>{format} : registered_dtypes()) {
    const FormatDef& def = *d.format()->def;
    const bool few = def.decode1 && def.bits <= kMostBits && def.kind != Kind::boolean;
    DY_CHECK_AS(UsageError, few || !format,
                "formats: --svg: {} has too many numbers, or none without its scales; try one of 8 bits", d.name());
    if (few && (format || def.kind == Kind::floating || def.kind == Kind::scaled)) shown.push_back(d);
  }
  const double left = 130, right = 1030, step = 30;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1140 {0}\" width=\"1140\" height=\"{0}\" role=\"img\" "
      "aria-label=\"The numbers of each format\">\n<style>text{{font:13px system-ui,sans-serif;fill:#1d1f24}}"
      ".note{{fill:#71757d;font-size:12px}}.axis{{stroke:#c9ccd1}}.tick{{stroke:#00785a;stroke-width:1.2}}"
      "svg{{background:#fdfdfc}}</style>\n",
      60 + step * double(shown.size()));
  double y = 30;
  for (DType d : shown) svg += line(d, y, left, right), y += step;
  for (const auto& [text, at] : {std::pair{"-largest", left}, {"0", (left + right) / 2}, {"largest", right}})
    svg += fmt::format("<text class=\"note\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", at, y + 6, text);
  svg += "</svg>\n";
  io::write_whole("formats", file, svg);
  print(json ? dump_json(nlohmann::ordered_json{{"file", file}, {"formats", shown.size()}}) + "\n" : file + "\n");
  return kDone;
}

}  // namespace dyadic::inline v1::cli
