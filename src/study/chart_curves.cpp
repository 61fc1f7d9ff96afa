// Loss against steps, and the gap to f32 against steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "study/charts.h"
#include "study/numbers.h"
#include "study/svg.h"
#include "study/words.h"

namespace dyadic::inline v1::study {

int series_index(const StudyResult& s, const std::string& recipe) {
  for (size_t i = 0; i < s.recipes.size(); ++i) {
    if (s.recipes[i].name == recipe) return int(i);
  }
  return 0;
}
std::string series_class(const StudyResult& s, const std::string& recipe) {
  return fmt::format("s{}", series_index(s, recipe) % 8);
}

namespace {
constexpr int kNameColumns = 26;
constexpr int kBuckets = 140;  // points of a smoothed line: more than a pixel each on a phone, some kilobytes for six recipes

// A point is the mean of its share of the steps.
std::vector<Point> smoothed(const std::vector<CurvePoint>& curve) {
  std::vector<Point> out;
  const size_t per = std::max<size_t>(1, (curve.size() + kBuckets - 1) / kBuckets);
  for (size_t begin = 0; begin < curve.size(); begin += per) {
    const size_t end = std::min(begin + per, curve.size());
    Point p;
    for (size_t i = begin; i < end; ++i) p.x += double(curve[i].step), p.y += curve[i].train_loss;
    out.push_back({p.x / double(end - begin), p.y / double(end - begin)});
  }
  return out;
}

struct Line {
  std::string name, end_label;
  int series = 0;
  std::vector<Point> faint, strong;  // in data units
};

struct Frame {
  std::string kind, title, y_title;
  double x_hi = 1, y_lo = 0, y_hi = 1;
  double rule = kUnknown, band_lo = kUnknown, band_hi = kUnknown;
  std::string rule_label, band_label;
  double height = 380;
};

// The end of a line in the plot: where its label wants to stand.
double end_height(const Line& line, const Scale& y) {
  const std::vector<Point>& points = line.strong.empty() ? line.faint : line.strong;
  return points.empty() ? y.to : std::clamp(y(points.back().y), y.to, y.from);
}

struct Plot {
  const Frame& f;
  const std::vector<Line>& lines;
  bool wide;
  double left, names, right, top = 26, bottom;
  Scale x, y;
  Svg svg;

  Plot(const Frame& frame, const std::vector<Line>& list, double width)
      : f(frame),
        lines(list),
        wide(width >= 600),
        left(52),
        names(wide ? beside_width(list) : 12),
        right(width - names),
        bottom(frame.height - 40),
        x{0, frame.x_hi, left, right},
        y{frame.y_lo, frame.y_hi, bottom, top},
        svg(width, frame.height + (wide ? 0 : 22.0 * double((list.size() + 1) / 2) + 6), frame.kind, frame.title) {}

  void axes() {
    if (std::isfinite(f.band_lo)) {
      const double a = y(std::min(f.band_hi, f.y_hi)), b = y(std::max(f.band_lo, f.y_lo));
      svg.rect(left, a, right - left, b - a, "band");
    }
    const Ticks ys = round_ticks(f.y_lo, f.y_hi, 6), xs = round_ticks(0, f.x_hi, wide ? 8 : 4);
    for (double v : ys.at) {
      svg.line(left, y(v), right, y(v), "grid");
      svg.text(left - 8, y(v) + 4, ys.label(v), "tick", Anchor::end);
    }
    for (double v : xs.at) svg.text(x(v), bottom + 18, count_text(int64_t(v)), "tick", Anchor::middle);
    svg.line(left, bottom, right, bottom, "axis");
    svg.text(left - 44, 12, f.y_title, "label");
    svg.text(right, bottom + 34, "step", "label", Anchor::end);
    if (std::isfinite(f.rule) && f.rule < f.y_hi && f.rule > f.y_lo) {
      svg.line(left, y(f.rule), right, y(f.rule), "rule");
      svg.text(right - 4, y(f.rule) + (f.rule > (f.y_lo + f.y_hi) / 2 ? 15 : -6), f.rule_label, "note", Anchor::end);
    }
  }

  void draw_lines() {
    const std::string inside = svg.clip(left, top - 6, right - left + 6, bottom - top + 6);
    // f32 last: the reference stays visible where all coincide.
    for (size_t k = lines.size(); k-- > 0;) {
      const Line& line = lines[k];
      const std::string cls = fmt::format("s{}", line.series % 8);
      svg.open("series " + cls, line.name, inside);
      const auto pixels = [&](const std::vector<Point>& data) {
        std::vector<Point> out;
        for (const Point& p : data) out.push_back({x(p.x), y(p.y)});
        return out;
      };
      svg.path(pixels(line.faint), "faint");
      svg.path(pixels(line.strong), "strong");
      const size_t every = line.strong.size() / 24 + 1;  // more marks than that hide the line
      for (size_t i = 0; i < line.strong.size(); ++i) {
        const Point p = line.strong[line.strong.size() - 1 - i];
        if (i % every == 0 && std::isfinite(p.y)) {
          svg.marker(x(p.x), y(p.y), series_shape(line.series), 3.2, "mark",
                     fmt::format("{}, step {}: {}", line.name, count_text(int64_t(p.x)),
                                 f.kind == "gap" ? delta_text(p.y) : loss_text(p.y)));
        }
      }
      svg.close();
    }
  }

  // Of the names and last values that stand beside the lines.
  static double beside_width(const std::vector<Line>& lines) {
    double name = 0, value = 0;
    for (const Line& line : lines) {
      name = std::max(name, kPerColumn * display_width(short_name(line.name, kNameColumns)));
      value = std::max(value, kPerColumn * display_width(line.end_label));
    }
    return std::max(186.0, 36 + name + 10 + value);
  }
  void names_beside() {
    std::vector<double> wanted;
    for (const Line& line : lines) wanted.push_back(end_height(line, y));
    const std::vector<double> at = spread(wanted, 19, top, bottom - 2);
    for (size_t k = 0; k < lines.size(); ++k) {
      const std::string cls = fmt::format("series s{}", lines[k].series % 8);
      svg.open(cls);
      svg.path({{right + 4, wanted[k]}, {right + 14, at[k]}, {right + 18, at[k]}}, "leader");
      svg.marker(right + 26, at[k], series_shape(lines[k].series), 4, "mark");
      svg.text(right + 36, at[k] + 4.5, short_name(lines[k].name, kNameColumns), "name");
      svg.text(right + names, at[k] + 4.5, lines[k].end_label, "tick", Anchor::end);
      svg.close();
    }
  }

  void names_below() {
    for (size_t k = 0; k < lines.size(); ++k) {
      const double at_x = k % 2 ? (left + right) / 2 : left - 36, at_y = f.height + 12 + 22 * double(k / 2);
      svg.open(fmt::format("series s{}", lines[k].series % 8));
      svg.marker(at_x, at_y - 4, series_shape(lines[k].series), 4, "mark");
      svg.text(at_x + 11, at_y, short_name(lines[k].name, 20), "name");
      svg.close();
    }
  }

  std::string draw() {
    axes();
    draw_lines();
    if (std::isfinite(f.band_hi))
      svg.text(left + 6, y(std::min(f.band_hi, f.y_hi)) - 6, f.band_label, "note clear");  // lines end close together
    if (wide) {
      names_beside();
    } else {
      names_below();
    }
    return svg.str();
  }
};

// The q-quantile of the finite values; NaN if there are none.
double quantile(std::vector<double> values, double q) {
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) return kUnknown;
  std::sort(values.begin(), values.end());
  return values[size_t(q * double(values.size() - 1))];
}
}  // namespace

static std::string loss_title(const StudyResult& s) {
  const Measure& m = s.measure;
  return m.unit.empty() ? "loss" : "loss, " + m.unit + " per " + m.item;
}

std::string curves_chart(const StudyResult& s, double width) {
  std::vector<Line> lines;
  std::vector<double> all;
  double steps = 1;
  for (const RecipeResult& r : s.recipes) {
    if (r.curve.empty()) continue;
    Line line{r.name,
              r.status >= Status::stopped ? status_name(r.status) : loss_text(r.val_loss),
              series_index(s, r.name),
              smoothed(r.curve),
              {}};
    for (const CurvePoint& p : r.curve) {
      if (std::isfinite(p.val_loss)) line.strong.push_back({double(p.step), p.val_loss});
    }
    for (const Point& p : line.faint) all.push_back(p.y);
    for (const Point& p : line.strong) all.push_back(p.y);
    steps = std::max(steps, double(r.curve.back().step));
    lines.push_back(std::move(line));
  }
  const double least = quantile(all, 0), most = quantile(all, 1);
  if (lines.empty() || !std::isfinite(least)) return "";
  Frame f;
  f.kind = "curves", f.title = "Loss by training step, for every recipe", f.y_title = loss_title(s);
  f.x_hi = steps;
  // The fall from the first steps' loss would take most of the height: the frame begins at what single bytes' frequencies
  // reach.
  double ceiling = s.corpus.unigram_token_nats * 1.06;
  if (!(ceiling > least)) ceiling = std::max(quantile(all, 0.9), least + 0.3 * std::fabs(least));
  f.y_hi = std::min(most, ceiling);
  f.y_lo = least - (f.y_hi - least) * 0.04;
  if (!(f.y_hi > f.y_lo)) f.y_hi = f.y_lo + 1;
  f.rule = s.corpus.unigram_token_nats;
  f.rule_label = fmt::format("entropy of single {}: {:.2f}", s.corpus.tokens == "chars" ? "characters" : "bytes", f.rule);
  f.height = width >= 600 ? 400 : 320;
  return Plot(f, lines, width).draw();
}

std::string gap_chart(const StudyResult& s, double width) {
  const RecipeResult* f32 = s.recipe("f32");
  if (!f32) return "";
  std::map<int64_t, double> reference;
  for (const CurvePoint& p : f32->curve) {
    if (std::isfinite(p.val_loss)) reference[p.step] = p.val_loss;
  }
  if (reference.size() < 3) return "";
  std::vector<Line> lines;
  std::vector<double> all;
  for (const RecipeResult& r : s.recipes) {
    if (&r == f32) continue;
    Line line{r.name,
              r.status >= Status::stopped ? status_name(r.status) : delta_text(r.vs_f32.delta),
              series_index(s, r.name),
              {},
              {}};
    for (const CurvePoint& p : r.curve) {
      const auto at = reference.find(p.step);
      if (at == reference.end() || !std::isfinite(p.val_loss)) continue;
      line.strong.push_back({double(p.step), p.val_loss - at->second});
      all.push_back(line.strong.back().y);
    }
    if (!line.strong.empty()) lines.push_back(std::move(line));
  }
  if (lines.empty()) return "";
  const double allowed = s.options.tolerance * std::fabs(f32->val_loss);
  Frame f;
  f.kind = "gap", f.title = "Validation loss minus that of f32, by training step",
  f.y_title = (s.measure.unit.empty() ? "loss" : s.measure.unit) + " above f32";
  f.x_hi = double(reference.rbegin()->first);
  // Early on the gaps are large and settle: the frame is made for where they end, and not for a recipe that diverged.
  std::vector<double> last;
  for (const Line& line : lines) last.push_back(line.strong.back().y);
  const double last_hi = quantile(last, 1), last_lo = std::min(0.0, quantile(last, 0));
  const double cap = std::max({12 * allowed, 8 * quantile(last, 0.5), 1e-4});
  f.y_hi = std::max({std::min(last_hi, cap) * 1.12, std::min({quantile(all, 0.95), 2 * last_hi, cap}), 1.5 * allowed, 1e-4});
  f.y_lo = std::min({last_lo * 1.2, std::max(quantile(all, 0.02), -0.5 * f.y_hi), -0.06 * f.y_hi});
  f.rule = 0, f.rule_label = "";
  f.band_lo = f.y_lo, f.band_hi = allowed,
  f.band_label = fmt::format("within {} of f32's final loss", tolerance_text(s.options.tolerance));
  f.height = width >= 600 ? 300 : 280;
  return Plot(f, lines, width).draw();
}

}  // namespace dyadic::inline v1::study
