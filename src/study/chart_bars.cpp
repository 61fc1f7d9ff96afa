// Bytes by category and tokens per second, as horizontal bars.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "study/charts.h"
#include "study/measure.h"
#include "study/numbers.h"
#include "study/svg.h"
#include "study/words.h"

namespace dyadic::inline v1::study {

std::vector<MemoryCategory> memory_categories(const StudyResult& s) {
  static constexpr MemoryCategory kAll[] = {{"parameters", &Bytes::parameters},
                                            {"gradients", &Bytes::gradients},
                                            {"optimizer", &Bytes::optimizer},
                                            {"activations", &Bytes::activations},
                                            {"workspace", &Bytes::workspace},
                                            {"temporary", &Bytes::temporary},
                                            {"data", &Bytes::data}};
  const auto most = [&](const MemoryCategory& c) {
    int64_t bytes = 0;
    for (const RecipeResult& r : s.recipes) {
      const Amount& a = r.bytes.*c.amount;
      bytes = std::max({bytes, a.measured.value_or(0), a.predicted.value_or(0)});
    }
    return bytes;
  };
  std::vector<MemoryCategory> list;
  for (const MemoryCategory& c : kAll) {
    // The last two are shown only where they can be seen.
    const bool minor = c.amount == &Bytes::temporary || c.amount == &Bytes::data;
    if (most(c) > (minor ? most({"", &Bytes::peak}) / 200 : 0)) list.push_back(c);
  }
  return list;
}

namespace {
struct Rows {  // where the bars of a recipe stand: beside its name, or below it on a narrow page
  static constexpr int kNameColumns = 32;
  bool wide;
  double left, right, pitch, first;
  Rows(const StudyResult& s, double width)
      : wide(width >= 600),
        left(wide ? name_width(s) : 2),
        right(width - (wide ? 104 : 2)),
        pitch(wide ? 46 : 62),
        first(wide ? 10 : 26) {}
  static double name_width(const StudyResult& s) {
    double most = 132;
    for (const RecipeResult& r : s.recipes)
      most = std::max(most, 16 + kPerColumn * display_width(short_name(r.name, kNameColumns)));
    return most;
  }
  double bar(size_t row) const { return first + pitch * double(row); }
  // On a narrow page beside its value, which it leaves room for.
  void name(Svg& svg, size_t row, const RecipeResult& r, const StudyResult& s, const std::string& value) const {
    const bool picked = r.name == s.recommendation.recipe;
    const char* cls = picked ? "name picked" : "name";
    if (wide) {
      svg.text(left - 12, bar(row) + 15, short_name(r.name, kNameColumns), cls, Anchor::end);
    } else {
      const double room = (right - left - 12) / kPerColumn - display_width(value);
      svg.text(left, bar(row) - 7, short_name(r.name, std::clamp(int(room), 4, kNameColumns)), cls);
    }
  }
  void value(Svg& svg, size_t row, double end, const std::string& text) const {
    if (wide) {
      svg.text(end + 10, bar(row) + 15, text, "value");
    } else {
      svg.text(right, bar(row) - 7, text, "value", Anchor::end);
    }
  }
};

double stack_bytes(const RecipeResult& r, const std::vector<MemoryCategory>& categories, Count Amount::* which) {
  double sum = 0;
  for (const MemoryCategory& c : categories) sum += double((r.bytes.*c.amount.*which).value_or(0));
  return sum;
}

void stack(Svg& svg, const RecipeResult& r, const std::vector<MemoryCategory>& categories, Count Amount::* which,
           const Scale& x, double y, double height) {
  double at = 0;
  for (size_t k = 0; k < categories.size(); ++k) {
    const Amount& a = r.bytes.*categories[k].amount;
    const double bytes = double((a.*which).value_or(0));
    if (bytes <= 0) continue;
    svg.rect(x(at), y, std::max(x(at + bytes) - x(at) - 1, 0.4), height,
             fmt::format("m{}{}", k, which == &Amount::predicted ? " predicted" : ""),
             fmt::format("{}, {}: measured {}, predicted {}", r.name, categories[k].name, bytes_text(a.measured),
                         bytes_text(a.predicted)));
    at += bytes;
  }
}
}  // namespace

std::string bytes_chart(const StudyResult& s, double width) {
  const std::vector<MemoryCategory> categories = memory_categories(s);
  if (categories.empty()) return "";
  double most = 1;
  for (const RecipeResult& r : s.recipes) {
    most = std::max({most, stack_bytes(r, categories, &Amount::measured), stack_bytes(r, categories, &Amount::predicted),
                     double(r.bytes.peak.measured.value_or(0)), double(r.bytes.peak.predicted.value_or(0))});
  }
  const Rows rows(s, width);
  const double bottom = rows.bar(s.recipes.size()) - (rows.wide ? 8 : 22);
  const Scale x{0, most, rows.left, rows.right};
  Svg svg(width, bottom + 24, "bars", "Bytes by category for every recipe, measured above predicted");
  for (double v : byte_ticks(most, rows.wide ? 6 : 3).at) {
    svg.line(x(v), rows.wide ? 4 : rows.first - 2, x(v), bottom, "grid");
    const double half = kPerColumn * display_width(bytes_tick(v)) / 2;
    svg.text(x(v), bottom + 17, bytes_tick(v), "tick",
             v == 0                ? Anchor::start
             : x(v) + half > width ? Anchor::end
                                   : Anchor::middle);
  }
  for (size_t i = 0; i < s.recipes.size(); ++i) {
    const RecipeResult& r = s.recipes[i];
    const double y = rows.bar(i);
    rows.name(svg, i, r, s, bytes_text(r.bytes.peak.measured));
    stack(svg, r, categories, &Amount::measured, x, y, 19);
    stack(svg, r, categories, &Amount::predicted, x, y + 21, 8);
    const auto peak = [&](const Count& bytes, double top, double height, const char* what) {
      if (bytes)
        svg.rect(x(double(*bytes)) - 1.25, top, 2.5, height, "peak",
                 fmt::format("{}, peak {} {}", r.name, what, bytes_text(bytes)));
    };
    peak(r.bytes.peak.measured, y - 2, 22, "measured");
    peak(r.bytes.peak.predicted, y + 20, 10, "predicted");
    const double end = std::max(stack_bytes(r, categories, &Amount::measured), double(r.bytes.peak.measured.value_or(0)));
    rows.value(svg, i, x(end), bytes_text(r.bytes.peak.measured));
  }
  return svg.str();
}

static std::string speed_text(const StudyResult& s, const RecipeResult& r) {
  if (!std::isfinite(r.tokens_per_s)) return kDash;
  return rate_text(s, r.tokens_per_s) + (std::isfinite(r.mfu) ? fmt::format(", {} of peak", percent_text(r.mfu)) : "");
}

std::string speed_chart(const StudyResult& s, double width) {
  double most = 0;
  for (const RecipeResult& r : s.recipes) {
    if (std::isfinite(r.tokens_per_s)) most = std::max(most, r.tokens_per_s);
  }
  if (most <= 0) return "";
  Rows rows(s, width);
  rows.pitch = rows.wide ? 32 : 48;
  double beside = 0;
  for (const RecipeResult& r : s.recipes) beside = std::max(beside, kPerColumn * display_width(speed_text(s, r)));
  if (rows.wide) rows.right = width - beside - 12;
  const Scale x{0, most, rows.left, rows.right};
  Svg svg(width, rows.bar(s.recipes.size()) - (rows.wide ? 4 : 20), "bars",
          "Training " + s.measure.item + "s per second for every recipe");
  for (size_t i = 0; i < s.recipes.size(); ++i) {
    const RecipeResult& r = s.recipes[i];
    rows.name(svg, i, r, s, speed_text(s, r));
    const double rate = std::isfinite(r.tokens_per_s) ? r.tokens_per_s : 0;
    svg.open("series " + series_class(s, r.name));
    svg.rect(x(0), rows.bar(i), x(rate) - x(0), 20, "solid",
             fmt::format("{}: {} ms per step, {}FLOP/s", r.name, milliseconds_text(r.step_ms), quantity_text(r.flops_per_s)),
             2);
    svg.close();
    rows.value(svg, i, x(rate), speed_text(s, r));
  }
  return svg.str();
}

}  // namespace dyadic::inline v1::study
