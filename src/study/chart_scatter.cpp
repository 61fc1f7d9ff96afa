// What is lost against what it costs: recipes by memory or time, formats by bits per weight.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/text.h"
#include "study/charts.h"
#include "study/measure.h"
#include "study/numbers.h"
#include "study/recommend.h"
#include "study/svg.h"
#include "study/words.h"

namespace dyadic::inline v1::study {

namespace {
constexpr size_t kMostNames = 12;  // of that many dots all are named

struct Dot {
  std::string label, tip, cls;
  double x = 0, y = 0, error = 0;  // half the 95 % interval
  int shape = 0;
  bool near = false, picked = false, reference = false;
};

enum class XAxis { bytes, linear, log2 };

struct Field {
  std::string kind, title, x_title, y_title;
  XAxis axis = XAxis::linear;
  double zero = 0, band = 0;  // f32's loss, and what is allowed above it
  std::string band_label;
  std::vector<Dot> dots;
};

struct Scatter {
  const Field& f;
  double width, left = 56, right, top = 28, bottom, limit;
  Scale x, y;
  Svg svg;
  static constexpr double kHeight = 380;

  Scatter(const Field& field, double w)
      : f(field),
        width(w),
        right(w - 20),
        bottom(kHeight - 44),
        limit(y_limit()),
        x(x_scale()),
        y(y_scale()),
        svg(w, kHeight, f.kind, f.title) {}

  double at_x(double v) const { return x(f.axis == XAxis::log2 ? std::log2(v) : v); }
  bool beyond(const Dot& d) const { return d.y > limit; }
  double at_y(const Dot& d) const { return y(std::min(d.y, limit)); }

  // A recipe that diverged must not press all others into one line: it is drawn at the upper edge, with its value.
  double y_limit() const {
    std::vector<double> above;
    for (const Dot& d : f.dots) above.push_back(d.y - f.zero);
    std::sort(above.begin(), above.end());
    const double middle = above[above.size() / 2];
    return f.zero + std::max({12 * f.band, 8 * middle, 1e-4});
  }
  Scale x_scale() const {
    double lo = INFINITY, hi = 0;
    for (const Dot& d : f.dots) lo = std::min(lo, d.x), hi = std::max(hi, d.x);
    if (f.axis == XAxis::log2) return {std::log2(lo) - 0.25, std::log2(hi) + 0.15, left, right};
    return {0, hi * 1.08, left, right};
  }
  Scale y_scale() const {
    double lo = f.zero, hi = f.zero + 1.6 * f.band;
    for (const Dot& d : f.dots) {
      const double shown = std::min(d.y, limit), error = beyond(d) ? 0 : d.error;
      lo = std::min(lo, shown - error);
      hi = std::max(hi, shown + error);
    }
    if (!(hi > lo)) hi = lo + 1e-3;
    // Room below f32's line for the labels that don't fit above it.
    return {lo - (hi - lo) * 0.1, hi + (hi - lo) * 0.05, bottom, top};
  }

  struct Box {
    double x1, y1, x2, y2;
    double overlap(const Box& o) const {
      return std::max(0.0, std::min(x2, o.x2) - std::max(x1, o.x1)) * std::max(0.0, std::min(y2, o.y2) - std::max(y1, o.y1));
    }
  };
  Box dot_box(const Dot& d) const {
    const double px = at_x(d.x), py = at_y(d), reach = d.picked ? 11 : 7;
    return {px - reach, py - reach, px + reach, py + reach};
  }
  Box bar_box(const Dot& d) const {
    const double px = at_x(d.x);
    return {px - 3, y(std::min(d.y + d.error, y.hi)), px + 3, y(std::max(d.y - d.error, y.lo))};
  }
  // In the band's upper left or right corner, where fewer dots are; above it where the band is thin.
  Box note_box() const {
    const double a = y(f.zero + f.band), at = y(f.zero) - a > 18 ? a + 2 : a - 17,
                 w = 6.2 * double(display_width(f.band_label));
    const Box corners[] = {{left + 6, at, left + 6 + w, at + 15}, {right - 6 - w, at, right - 6, at + 15}};
    double covered[] = {0, 0};
    for (const Dot& d : f.dots)
      for (int c : {0, 1}) covered[c] += corners[c].overlap(dot_box(d)) + corners[c].overlap(bar_box(d));
    return corners[covered[1] < covered[0]];
  }

  void axes() {
    const double a = y(f.zero + f.band), b = bottom;
    svg.rect(left, a, right - left, b - a, "band");
    const Box note = note_box();
    svg.text(note.x1, note.y2 - 3, f.band_label, "note");
    const Ticks ys = round_ticks(y.lo, y.hi, 6);
    for (double v : ys.at) {
      svg.line(left, y(v), right, y(v), "grid");
      svg.text(left - 8, y(v) + 4, ys.label(v), "tick", Anchor::end);
    }
    svg.line(left, y(f.zero), right, y(f.zero), "rule");
    const auto x_tick = [&](double v, const std::string& label) {
      if (at_x(v) >= left - 1 && at_x(v) <= right + 1) svg.text(at_x(v), bottom + 18, label, "tick", Anchor::middle);
    };
    if (f.axis == XAxis::log2) {
      for (double v : {1., 2., 3., 4., 6., 8., 12., 16., 32., 64.}) x_tick(v, fmt::format("{:g}", v));
    } else if (f.axis == XAxis::bytes) {
      for (double v : byte_ticks(x.hi, 5).at) x_tick(v, bytes_tick(v));
    } else {
      const Ticks t = round_ticks(0, x.hi, 5);
      for (double v : t.at) x_tick(v, t.label(v));
    }
    svg.line(left, bottom, right, bottom, "axis");
    svg.text(left - 48, 12, short_name(f.y_title, int(width / kPerColumn)), "label");
    svg.text(right, bottom + 36, f.x_title, "label", Anchor::end);
  }

  void dots() {
    for (const Dot& d : f.dots) {
      const double px = at_x(d.x), py = at_y(d);
      svg.open("series " + d.cls, d.tip);
      if (d.error > 0 && !beyond(d)) {
        const double up = y(d.y + d.error), down = y(d.y - d.error);
        if (down - up > 3) {
          svg.line(px, up, px, down, "error");
          svg.line(px - 3.5, up, px + 3.5, up, "error");
          svg.line(px - 3.5, down, px + 3.5, down, "error");
        }
      }
      if (d.picked) svg.marker(px, py, 0, 10, "halo");
      svg.marker(px, py, beyond(d) ? 2 : d.shape, 5, d.near ? "mark" : "mark hollow");
      svg.close();
    }
  }

  std::string full_label(const Dot& d) const {
    const std::string name = short_name(d.label, std::min(26, int((right - left) / 2.2 / kPerColumn)));  // fits on either side
    return beyond(d) ? fmt::format("{} ({})", name, delta_text(d.y - f.zero)) : name;
  }

  // Of many dots only the reference is named and those that no other beats in both directions.
  bool named(const Dot& d) const {
    if (f.dots.size() <= kMostNames || d.picked || d.reference) return true;
    for (const Dot& o : f.dots)
      if (o.x <= d.x && o.y <= d.y && (o.x < d.x || o.y < d.y)) return false;
    return true;
  }

  // Each label takes the nearest of a few places around its dot where it covers least of what is there: dots, labels, the
  // frame.
  void labels() {
    std::vector<Box> taken;
    for (const Dot& d : f.dots) {
      taken.push_back(dot_box(d));
      taken.push_back(bar_box(d));
    }
    if (!f.band_label.empty()) taken.push_back(note_box());
    // Right to left: a dot that has nothing on its right is labelled there, and so on.
    std::vector<size_t> order(f.dots.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return f.dots[a].x != f.dots[b].x ? f.dots[a].x > f.dots[b].x : a < b; });
    for (size_t i : order)
      if (named(f.dots[i])) place(f.dots[i], taken);
  }

  void place(const Dot& d, std::vector<Box>& taken) {
    const std::string label = full_label(d);
    const double px = at_x(d.x), py = at_y(d), w = kPerColumn * display_width(label) + 2, gap = d.picked ? 14 : 10;
    double best_cost = INFINITY;
    Box best{};
    bool best_right = true;
    for (const double dy : {0., -15., 15., -26., 26., -40., 40., -56., 56., -72., -88., -104.}) {
      for (const double dx : {gap, -gap, gap + 14, -gap - 14, -w / 2}) {
        if (dx == -w / 2 && std::abs(dy) < 14) continue;
        const bool right = dx > 0 || dx == -w / 2;
        const double x1 = right ? px + dx : px + dx - w;
        const Box box{x1, py + dy - 7, x1 + w, py + dy + 7};
        double cost = std::abs(dy) * 1.2 + std::abs(dx) * 0.4 + (right ? 0 : 6);
        for (const Box& o : taken) cost += 14 * box.overlap(o);
        cost += box.overlap({left, y(f.zero) - 1, this->right, y(f.zero) + 1});  // a rule through a name is ugly, no more
        if (box.x1 < left + 2 || box.x2 > width || box.y1 < top - 12 || box.y2 > bottom - 1) cost += 1e5;
        if (cost < best_cost) best_cost = cost, best = box, best_right = right;
      }
    }
    taken.push_back(best);
    const double middle = (best.y1 + best.y2) / 2;
    if (std::abs(middle - py) > 12 || std::abs((best_right ? best.x1 : best.x2) - px) > gap + 8) {
      const double to = std::clamp(px, best.x1, best.x2), edge = middle < py ? best.y2 - 1 : middle > py ? best.y1 + 2 : middle;
      svg.path({{px, py}, {to == px ? px : to + (to > px ? -2 : 2), std::abs(middle - py) > 8 ? edge : middle}}, "leader");
    }
    svg.text(best.x1, middle + 4.5, label, d.picked ? "name picked" : "name");
  }

  std::string draw() {
    axes();
    labels();
    dots();
    return svg.str();
  }
};

double half_interval(const LossDelta& d) { return std::isfinite(d.se) ? 1.96 * d.se : 0; }

std::string tip(const StudyResult& s, const std::string& name, const std::string& cost, double value, const LossDelta& d) {
  return fmt::format("{}: {}, {} {}, {} \u00b1 {} to f32", name, cost, judged_name(s), loss_text(value),
                     change_text(s, d.delta), error_text(d.se));
}

// What is lost, upwards: "nats above f32", "accuracy below f32".
std::string lost_title(const StudyResult& s) {
  const Measure& m = s.measure;
  return fmt::format("{} {} f32",
                     !m.metric.empty() ? m.metric
                     : m.unit.empty()  ? "loss"
                                       : m.unit,
                     !m.metric.empty() && m.larger ? "below" : "above");
}
}  // namespace

std::string recipes_chart(const StudyResult& s, double width) {
  const RecipeResult* f32 = s.recipe("f32");
  if (!f32 || !std::isfinite(f32_value(s))) return "";
  const bool time = s.options.minimize == Minimize::time;
  Field f;
  f.kind = "scatter", f.axis = time ? XAxis::linear : XAxis::bytes;
  f.title = time ? "What each recipe loses against the time of a step" : "What each recipe loses against the memory it takes";
  f.x_title = time ? "ms per step" : "peak memory of training", f.y_title = lost_title(s);
  f.band = allowed(s);
  f.band_label = fmt::format("within {}", tolerance_text(s.options.tolerance));
  for (const RecipeResult& r : s.recipes) {
    const double cost = time ? r.step_ms : r.bytes.peak.measured ? double(*r.bytes.peak.measured) : kUnknown;
    const LossDelta& d = judged(s, r);
    if (!std::isfinite(cost) || !std::isfinite(d.delta)) continue;
    const std::string words = time ? milliseconds_text(cost) + " ms per step" : bytes_text(cost);
    f.dots.push_back({r.name, tip(s, r.name, words, judged_value(s, r), d), series_class(s, r.name), cost, d.delta,
                      half_interval(d), series_shape(series_index(s, r.name)), &r == f32 || within_tolerance(s, d),
                      r.name == s.recommendation.recipe, &r == f32});
  }
  return f.dots.empty() ? "" : Scatter(f, width).draw();
}

std::string formats_chart(const StudyResult& s, double width) {
  const FormatResult* f32 = s.format("f32");
  if (!f32 || !std::isfinite(judged_value(s, *f32))) return "";
  const bool metric = !s.measure.metric.empty();
  Field f;
  f.kind = "scatter", f.axis = XAxis::log2;
  f.title = fmt::format("{} against bits per weight, for every format",
                        metric ? "What is lost in " + s.measure.metric : "Validation loss");
  f.x_title = "bits per weight, scales counted";
  f.y_title = metric                   ? lost_title(s)
              : s.measure.unit.empty() ? "validation loss"
                                       : fmt::format("validation loss, {} per {}", s.measure.unit, s.measure.item);
  f.zero = metric ? 0 : f32->val_loss, f.band = allowed(s);
  f.band_label = fmt::format("within {}", tolerance_text(s.options.tolerance));
  for (const FormatResult& r : s.formats) {
    const LossDelta& d = judged(s, r);
    if (!(r.bits_per_weight > 0) || !std::isfinite(judged_value(s, r)) || !std::isfinite(d.delta)) continue;
    const bool near = &r == f32 || within_tolerance(s, d);
    f.dots.push_back({r.name.substr(0, r.name.find('(')),
                      tip(s, r.name, fmt::format("{:.2f} bits", r.bits_per_weight), judged_value(s, r), d), near ? "in" : "out",
                      r.bits_per_weight, metric ? d.delta : r.val_loss, half_interval(d), 0, near,
                      r.name == s.recommendation.uniform, &r == f32});
  }
  // Short names (without parameters) unless two formats share one.
  std::map<std::string, int> sharing;
  for (const Dot& d : f.dots) ++sharing[d.label];
  for (Dot& d : f.dots)
    if (sharing[d.label] > 1) d.label = d.tip.substr(0, d.tip.find(':'));
  return f.dots.empty() ? "" : Scatter(f, width).draw();
}

}  // namespace dyadic::inline v1::study
