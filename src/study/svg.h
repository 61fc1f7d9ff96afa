// A small writer of inline SVG: escaped text, linear axes with round ticks, labels that keep their distance. Colours and fonts
// are CSS classes (report_style.cpp), so that one drawing serves light, dark and print.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace dyadic::inline v1::study {

std::string html_text(std::string_view text);  // escaped; broken UTF-8 and control characters as U+FFFD

struct Point {
  double x = 0, y = 0;
};

// Maps [lo, hi] to pixels [from, to]; hi may lie below lo's pixel (y axes).
struct Scale {
  double lo = 0, hi = 1, from = 0, to = 1;
  double operator()(double v) const { return hi > lo ? from + (v - lo) / (hi - lo) * (to - from) : (from + to) / 2; }
};
struct Ticks {
  std::vector<double> at;
  int decimals = 0;  // that tell two neighbours apart
  std::string label(double v) const;
};
Ticks round_ticks(double lo, double hi, int about);
Ticks byte_ticks(double hi, int about);  // from 0, at round numbers of a binary unit
std::string bytes_tick(double v);        // "0", "10 MiB"

// Moves the wanted positions (sorted or not) as little as needed so that neighbours are `gap` apart and all lie in [lo, hi].
std::vector<double> spread(const std::vector<double>& wanted, double gap, double lo, double hi);

enum class Anchor { start, middle, end };

class Svg {
 public:
  // `kind` is a CSS class of the whole; `title` says what it shows (for those who can't see it).
  Svg(double width, double height, std::string_view kind, std::string_view title);
  void line(double x1, double y1, double x2, double y2, std::string_view cls);
  void path(const std::vector<Point>& points, std::string_view cls, std::string_view extra = {});
  void rect(double x, double y, double w, double h, std::string_view cls, std::string_view tip = {}, double round = 0);
  void text(double x, double y, std::string_view text, std::string_view cls, Anchor anchor = Anchor::start);
  void vertical_text(double x, double y, std::string_view text, std::string_view cls);  // reads upwards, centred on (x, y)
  // One of eight shapes, so that series differ in more than colour.
  void marker(double x, double y, int shape, double radius, std::string_view cls, std::string_view tip = {});
  void open(std::string_view cls, std::string_view tip = {}, std::string_view extra = {});  // a group
  void close();
  std::string clip(double x, double y, double w, double h);  // an attribute for open(), unique in the document
  std::string str() const { return body_ + "</svg>\n"; }

 private:
  void tip(std::string_view text);
  std::string body_;
};

}  // namespace dyadic::inline v1::study
