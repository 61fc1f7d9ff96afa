#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace dyadic::inline v1 {

namespace {

// Three significant digits, without trailing zeros: 1.5, 12.3, 999.
std::string three_digits(double v) {
  double size = std::fabs(v);
  std::string s = fmt::format("{:.{}f}", v, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
  if (s.find('.') != std::string::npos) {
    while (s.back() == '0') s.pop_back();
    if (s.back() == '.') s.pop_back();
  }
  return s;
}

template <size_t N> std::string scaled(double v, double step, const std::array<const char*, N>& units) {
  size_t i = 0;
  while (i + 1 < N && std::fabs(v) >= (i ? step * 0.9995 : step)) v /= step, i++;
  // 999.9 KiB is shown as 1000 KiB, 1023.9 as 1 MiB.
  std::string s = three_digits(v);
  return *units[i] ? s + " " + units[i] : s;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; }
double replace_cost(char a, char b) { return a == b ? 0 : lower(a) == lower(b) ? 0.5 : 1; }

template <class S> std::string nearest_of(std::string_view name, std::span<const S> candidates) {
  std::string_view best;
  double least = HUGE_VAL;
  for (const S& c : candidates)
    if (double d = edit_distance(name, c); d < least) least = d, best = c;
  return std::string(best);
}
template <class S> std::string join_of(std::span<const S> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

}  // namespace

std::string human_bytes(int64_t bytes) {
  return scaled(double(bytes), 1024, std::array{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"});
}

std::string human_count(double count) {
  if (std::fabs(count) >= 1e18 || !std::isfinite(count)) return fmt::format("{:.3g}", count);
  return scaled(count, 1000, std::array{"", "k", "M", "G", "T", "P"});
}

std::string human_duration(double seconds) {
  if (!(std::fabs(seconds) < 1e15)) return fmt::format("{:.3g} s", seconds);
  if (seconds < 0) return "-" + human_duration(-seconds);
  if (seconds == 0) return "0 s";
  if (seconds < 59.95) {
    double v = seconds * 1e9;
    for (const char* unit : {"ns", "us", "ms"}) {
      if (v < 999.5) return three_digits(v) + " " + unit;
      v /= 1000;
    }
    return three_digits(v) + " s";
  }
  int64_t s = int64_t(std::llround(seconds));
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
  return fmt::format("{} d {:02} h", s / 86400, s / 3600 % 24);
}

double edit_distance(std::string_view a, std::string_view b) {
  std::vector<double> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) last[j] = double(j);
  for (size_t i = 1; i <= a.size(); i++) {
    now[0] = double(i);
    for (size_t j = 1; j <= b.size(); j++) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + replace_cost(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

std::string nearest(std::string_view name, std::span<const std::string> candidates) { return nearest_of(name, candidates); }
std::string nearest(std::string_view name, std::span<const std::string_view> candidates) {
  return nearest_of(name, candidates);
}

std::string join(std::span<const std::string> parts, std::string_view separator) { return join_of(parts, separator); }
std::string join(std::span<const std::string_view> parts, std::string_view separator) { return join_of(parts, separator); }

int display_width(std::string_view s) {
  int width = 0;
  for (size_t i = 0; i < s.size();) {
    unsigned char c = static_cast<unsigned char>(s[i]);
    int bytes = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    uint32_t point = c < 0x80 ? c : c & (0xff >> (bytes + 1));
    for (int k = 1; k < bytes && i + k < s.size(); k++) point = point << 6 | (uint8_t(s[i + k]) & 0x3f);
    bool combining =
        (point >= 0x300 && point < 0x370) || (point >= 0x200b && point <= 0x200f) || (point >= 0xfe00 && point < 0xfe10);
    bool wide =
        (point >= 0x1100 && point < 0x1160) || (point >= 0x2e80 && point < 0xa4d0) || (point >= 0xac00 && point < 0xd7a4) ||
        (point >= 0xf900 && point < 0xfb00) || (point >= 0xfe30 && point < 0xfe70) || (point >= 0xff00 && point < 0xff61) ||
        (point >= 0x1f300 && point < 0x1f650) || (point >= 0x1f900 && point < 0x1fa00) || (point >= 0x20000 && point < 0x3fffe);
    width += combining ? 0 : wide ? 2 : 1;
    i += size_t(bytes);
  }
  return width;
}

Table::Table(std::vector<std::string> head, std::vector<Align> align) : head_(std::move(head)), align_(std::move(align)) {}

Table& Table::row(std::vector<std::string> cells) {
  cells.resize(head_.size());
  rows_.push_back(std::move(cells));
  return *this;
}
Table& Table::rule() {
  rows_.emplace_back();
  return *this;
}

namespace {

bool looks_numeric(std::string_view s) {  // "12", "-1.5e3", "85 %", "1.5 MiB", "-", "nan"; empty cells decide nothing
  if (s.empty() || s == "-" || s == "nan" || s == "inf" || s == "-inf") return true;
  size_t i = s[0] == '-' || s[0] == '+' || s[0] == '<' || s[0] == '>' ? 1 : 0;
  return i < s.size() && s[i] >= '0' && s[i] <= '9';
}
void append_cell(std::string& line, std::string_view cell, int width, Align align, bool last) {
  size_t blanks = size_t(std::max(0, width - display_width(cell)));
  if (align == Align::right) line.append(blanks, ' ');
  line += cell;
  if (align == Align::left && !last) line.append(blanks, ' ');
}

}  // namespace

std::string Table::str(std::string_view indent) const {
  const size_t columns = head_.size();
  std::vector<int> width(columns);
  std::vector<Align> align(columns, Align::left);
  for (size_t c = 0; c < columns; c++) {
    width[c] = display_width(head_[c]);
    bool numeric = true;
    for (const auto& r : rows_) {
      if (r.empty()) continue;
      width[c] = std::max(width[c], display_width(r[c]));
      numeric = numeric && looks_numeric(r[c]);
    }
    align[c] = c < align_.size() ? align_[c] : numeric && !rows_.empty() ? Align::right : Align::left;
  }
  std::string out;
  auto put = [&](const std::vector<std::string>& cells) {
    std::string line(indent);
    for (size_t c = 0; c < columns; c++) {
      if (c) line += "  ";
      append_cell(line, cells[c], width[c], align[c], c + 1 == columns);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  };
  auto rule = [&] {
    size_t total = columns ? (columns - 1) * 2 : 0;
    for (int w : width) total += size_t(w);
    out += std::string(indent) + std::string(total, '-') + "\n";
  };
  put(head_);
  rule();
  for (const auto& r : rows_) r.empty() ? rule() : put(r);
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

std::string html_escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace dyadic::inline v1
