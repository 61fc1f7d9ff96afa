// What each module loses in a format, worst first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/charts.h"
#include "study/measure.h"
#include "study/numbers.h"
#include "study/svg.h"
#include "study/words.h"

namespace dyadic::inline v1::study {

std::string layers_chart(const StudyResult& s, double width) {
  if (!s.layers || s.layers->modules.empty()) return "";
  constexpr size_t kRows = 24;
  const bool wide = width >= 600;
  const std::vector<ModuleLoss>& all = s.layers->modules;
  const size_t n = std::min(kRows, all.size());
  double lo = 0, hi = 1e-6;
  const auto half = [](const LossDelta& d) { return std::isfinite(d.se) ? 1.96 * d.se : 0; };
  for (size_t i = 0; i < n; ++i) {
    if (std::isfinite(all[i].alone.delta)) {
      lo = std::min(lo, all[i].alone.delta - half(all[i].alone));
      hi = std::max(hi, all[i].alone.delta + half(all[i].alone));
    }
    if (std::isfinite(all[i].spared.delta)) {
      lo = std::min(lo, -all[i].spared.delta);
      hi = std::max(hi, -all[i].spared.delta);
    }
  }
  const double left = wide ? 260 : 10, right = width - 24, pitch = wide ? 24 : 38, first = wide ? 8 : 22;
  const double bottom = first + pitch * double(n);
  const Scale x{lo, hi, left + 8, right};  // a mark at the end keeps off the names
  Svg svg(width, bottom + 40, "bars",
          fmt::format("What each module loses when it alone is stored in {}, the worst first", s.layers->format));
  const Ticks ticks = round_ticks(lo, hi, wide ? 6 : 4);
  for (double v : ticks.at) {
    svg.line(x(v), 2, x(v), bottom, "grid");
    svg.text(x(v), bottom + 16, ticks.label(v), "tick", Anchor::middle);
  }
  svg.line(x(0), 2, x(0), bottom, "rule");
  const Measure& m = s.measure;
  const std::string what = !m.metric.empty() ? "lost " + m.metric : m.unit.empty() ? "loss above f32" : m.unit + " above f32";
  svg.text(right, bottom + 34, short_name(what, int((right - 10) / kPerColumn)), "label", Anchor::end);
  for (size_t i = 0; i < n; ++i) {
    const ModuleLoss& one = all[i];
    const double y = first + pitch * double(i) + (wide ? 0 : 6), middle = y + 6;
    svg.text(wide ? left - 10 : left, wide ? y + 10 : y - 6, short_name(one.module, wide ? int((left - 10) / kPerColumn) : 40),
             one.kept ? "name picked" : "name", wide ? Anchor::end : Anchor::start);
    svg.open(one.kept ? "series in" : "series s1",
             fmt::format("{}: alone {} \u00b1 {}, spared {} \u00b1 {}", one.module, change_text(s, one.alone.delta),
                         error_text(one.alone.se), change_text(s, one.spared.delta), error_text(one.spared.se)));
    if (const double d = one.alone.delta; std::isfinite(d)) {
      svg.rect(std::min(x(0), x(d)), y, std::max(std::fabs(x(d) - x(0)), 1.0), 12, "solid", {}, 2);
      const double e = half(one.alone);
      if (x(d + e) - x(d - e) > 3) svg.line(x(d - e), middle, x(d + e), middle, "error");
    }
    if (std::isfinite(one.spared.delta)) svg.marker(x(-one.spared.delta), middle, 0, 4, "mark hollow");
    svg.close();
  }
  return svg.str();
}

}  // namespace dyadic::inline v1::study
