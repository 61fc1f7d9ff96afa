// Text for people: sizes, durations, names that were meant, aligned tables.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dyadic::inline v1 {

std::string human_bytes(int64_t bytes);      // "0 B", "999 B", "1.5 KiB", "-2 MiB": three digits, binary units
std::string human_count(double count);       // "950", "1.23 k", "85.0 M", "1.2e+30": decimal units
std::string human_duration(double seconds);  // "0 s", "812 ns", "1.5 ms", "2.04 s", "3 min 05 s", "1 h 02 min", "2 d 03 h"

// The candidate with the smallest edit distance to `name` (insert, delete, replace, swap neighbours; case counts half); the
// first of equals. Empty when there is no candidate.
std::string nearest(std::string_view name, std::span<const std::string> candidates);
std::string nearest(std::string_view name, std::span<const std::string_view> candidates);
double edit_distance(std::string_view a, std::string_view b);

std::string join(std::span<const std::string> parts, std::string_view separator);
std::string join(std::span<const std::string_view> parts, std::string_view separator);

std::vector<std::string_view> lines_of(std::string_view text);  // without the breaks; one at the end begins no further line
std::string html_escape(std::string_view text);                 // & < > " '

// Columns a terminal needs: of UTF-8 text, combining marks counted as none and East Asian wide characters as two.
int display_width(std::string_view utf8);

enum class Align : uint8_t { left, right };

// Rows of cells; str() aligns the columns. Cells keep their bytes; missing cells are empty.
//   Table t({"module", "bytes"}, {Align::left, Align::right});
//   t.row({"wte", "1.5 MiB"});
class Table {
  std::vector<std::string> head_;
  std::vector<Align> align_;
  std::vector<std::vector<std::string>> rows_;  // an empty one is a rule

 public:
  // A column without an entry in `align` is right-aligned when all its cells are numbers (with units), else left-aligned.
  explicit Table(std::vector<std::string> head, std::vector<Align> align = {});
  Table& row(std::vector<std::string> cells);
  Table& rule();  // a line across
  size_t size() const { return rows_.size(); }
  std::string str(std::string_view indent = "") const;  // ends in a newline; no trailing blanks
};

}  // namespace dyadic::inline v1
