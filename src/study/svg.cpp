// A small writer of inline SVG.
#include "study/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "base/text.h"
#include "study/corpus_files.h"

namespace dyadic::inline v1::study {

namespace {
// Pixels with one decimal and no trailing ".0": a third of the size of full doubles.
std::string px(double v) {
  if (!std::isfinite(v)) v = 0;
  std::string s = fmt::format("{:.1f}", v);
  if (s.ends_with(".0")) s.resize(s.size() - 2);
  return s == "-0" ? "0" : s;
}
template <class... A> void add(std::string& to, fmt::format_string<A...> text, A&&... a) {
  fmt::format_to(std::back_inserter(to), text, std::forward<A>(a)...);
}
}  // namespace

std::string html_text(std::string_view text) { return html_escape(printable(text)); }

std::string Ticks::label(double v) const {
  if (std::fabs(v) < 1e-12) v = 0;
  return (v < 0 ? "\u2212" : "") + fmt::format("{:.{}f}", std::fabs(v), decimals);
}

Ticks round_ticks(double lo, double hi, int about) {
  Ticks t;
  if (!(hi > lo)) return t;
  const double raw = (hi - lo) / std::max(about, 1), power = std::pow(10, std::floor(std::log10(raw))), lead = raw / power;
  const double step = power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
  t.decimals = std::max(0, int(std::ceil(-std::log10(step) - 1e-9)));
  for (double i = std::ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9; ++i) t.at.push_back(i * step);
  return t;
}

Ticks byte_ticks(double hi, int about) {
  double unit = 1;
  while (hi > unit * 1024) unit *= 1024;
  if (hi / unit < 2 && unit > 1) unit /= 1024;  // hundreds of KiB rather than fifths of a MiB
  Ticks t = round_ticks(0, hi / unit, about);
  for (double& v : t.at) v *= unit;
  return t;
}

std::string bytes_tick(double v) {
  if (v <= 0) return "0";
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  while (v >= 1024 && unit < 5 && std::fmod(v / 102.4, 1) == 0) v /= 1024, ++unit;  // 1500 KiB rather than 1.46484 MiB
  return fmt::format("{:g} {}", v, kUnits[unit]);
}

std::vector<double> spread(const std::vector<double>& wanted, double gap, double lo, double hi) {
  const size_t n = wanted.size();
  if (n == 0) return {};
  if (n > 1) gap = std::min(gap, (hi - lo) / double(n - 1));
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return wanted[a] != wanted[b] ? wanted[a] < wanted[b] : a < b; });
  // Neighbours that collide join into a block at the mean of what they want (the least squares solution); blocks may join
  // again.
  struct Block {
    double sum;
    int count;
    double start(double gap) const { return sum / count - gap * (count - 1) / 2; }
  };
  std::vector<Block> blocks;
  const auto clamped = [&](const Block& b) { return std::clamp(b.start(gap), lo, std::max(lo, hi - gap * (b.count - 1))); };
  for (size_t i : order) {
    blocks.push_back({wanted[i], 1});
    while (blocks.size() > 1) {
      const Block &a = blocks[blocks.size() - 2], &b = blocks.back();
      if (clamped(a) + gap * a.count <= clamped(b) + 1e-9) break;
      const Block joined{a.sum + b.sum, a.count + b.count};
      blocks.pop_back();
      blocks.back() = joined;
    }
  }
  std::vector<double> out(n);
  size_t next = 0;
  for (const Block& b : blocks) {
    for (int i = 0; i < b.count; ++i) out[order[next++]] = clamped(b) + gap * i;
  }
  return out;
}

Svg::Svg(double width, double height, std::string_view kind, std::string_view title) {
  add(body_, "<svg class=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kind, px(width), px(height),
      html_text(title));
}

void Svg::tip(std::string_view text) {
  if (!text.empty()) add(body_, "<title>{}</title>", html_text(text));
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view cls) {
  add(body_, "<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", cls, px(x1), px(y1), px(x2), px(y2));
}

void Svg::path(const std::vector<Point>& points, std::string_view cls, std::string_view extra) {
  if (points.empty()) return;
  add(body_, "<path class=\"{}\" {} d=\"", cls, extra);
  bool up = true;  // a point that is not finite interrupts the line
  for (const Point& p : points) {
    if (!std::isfinite(p.x) || !std::isfinite(p.y)) {
      up = true;
      continue;
    }
    add(body_, "{}{} {}", up ? "M" : "L", px(p.x), px(p.y));
    up = false;
  }
  body_ += "\"/>\n";
}

void Svg::rect(double x, double y, double w, double h, std::string_view cls, std::string_view text, double round) {
  add(body_, "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", cls, px(x), px(y), px(std::max(w, 0.0)),
      px(std::max(h, 0.0)));
  if (round > 0) add(body_, " rx=\"{}\"", px(round));
  body_ += ">";
  tip(text);
  body_ += "</rect>\n";
}

void Svg::text(double x, double y, std::string_view text, std::string_view cls, Anchor anchor) {
  const char* where = anchor == Anchor::middle ? " text-anchor=\"middle\""
                      : anchor == Anchor::end  ? " text-anchor=\"end\""
                                               : "";
  add(body_, "<text class=\"{}\" x=\"{}\" y=\"{}\"{}>{}</text>\n", cls, px(x), px(y), where, html_text(text));
}

void Svg::vertical_text(double x, double y, std::string_view text, std::string_view cls) {
  add(body_, "<text class=\"{}\" transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", cls, px(x),
      px(y), html_text(text));
}

void Svg::marker(double x, double y, int shape, double r, std::string_view cls, std::string_view text) {
  const auto polygon = [&](int corners, double turn, double radius, double inner) {
    add(body_, "<path class=\"{}\" d=\"", cls);
    for (int i = 0; i < corners; ++i) {
      const double angle = (turn + double(i) / corners) * 2 * M_PI, far = i % 2 ? inner : radius;
      add(body_, "{}{:.2f} {:.2f}", i ? "L" : "M", x + far * std::sin(angle), y - far * std::cos(angle));
    }
    body_ += "Z\">";
    tip(text);
    body_ += "</path>\n";
  };
  const double big = r * 1.3;
  switch (shape % 8) {
    case 0:
      add(body_, "<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\">", cls, px(x), px(y), px(r));
      tip(text);
      body_ += "</circle>\n";
      break;
    case 1:
      polygon(4, 0.125, big, big);
      break;  // square
    case 2:
      polygon(3, 0, big, big);
      break;  // triangle; its corners alternate in no inner radius
    case 3:
      polygon(4, 0, big, big);
      break;  // diamond
    case 4:
      polygon(3, 0.5, big, big);
      break;  // triangle, point down
    case 5:
      polygon(8, 0, r * 1.5, r * 0.6);
      break;  // four-pointed star
    case 6:
      polygon(6, 0, big, big);
      break;  // hexagon
    default:
      polygon(10, 0, r * 1.5, r * 0.7);  // star
  }
}

void Svg::open(std::string_view cls, std::string_view text, std::string_view extra) {
  add(body_, "<g class=\"{}\" {}>", cls, extra);
  tip(text);
}

void Svg::close() { body_ += "</g>\n"; }

std::string Svg::clip(double x, double y, double w, double h) {
  // The same rectangle has the same name: duplicates in one document then mean the same.
  const std::string id =
      fmt::format("c{}-{}-{}-{}", std::lround(x * 10), std::lround(y * 10), std::lround(w * 10), std::lround(h * 10));
  add(body_, "<clipPath id=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n", id, px(x), px(y), px(w),
      px(h));
  return fmt::format("clip-path=\"url(#{})\"", id);
}

}  // namespace dyadic::inline v1::study
