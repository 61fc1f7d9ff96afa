// What a regular expression becomes: instructions, and the sets of characters that they name.
#pragma once
#include <bitset>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "text/regex.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {

// A set of characters: anything of it, or, when it is negated, nothing of it.
struct CharSet {
  std::vector<std::pair<char32_t, char32_t>> ranges;
  uint32_t categories = 0;  // a bit for each
  bool space = false, alphabetic = false, lowercase = false, uppercase = false;
  std::vector<int> scripts;
  std::vector<CharSet> inner;  // classes in classes, negated properties
  bool negated = false, fold = false;
  std::bitset<128> ascii;  // has() for these, computed once

  bool holds(char32_t c) const;
  bool has(char32_t c) const { return c < 128 ? ascii[c] : holds(c); }
  void finish();
  bool operator==(const CharSet&) const = default;
};

enum class Code : uint8_t {
  character,  // x: the code
  folded,     // x: the code in lower case
  set,        // x: its number
  any,        // but a line's end
  split,      // go on at x; should that fail, at y
  jump,       // to x
  look,       // ahead: what stands from the next instruction to x must match here; flag: must not
  behind,     // as look, beginning at most y characters before here, and ending here
  reached,    // the place that is in register x
  atomic,     // as look, but the text is passed
  repeat,     // set number x, at least y times, as often as it goes; flag: never gives back
  line_begin,
  text_begin,
  text_end,
  line_end,
  word_edge,
  not_word_edge,
  mark,
  empty_check,  // the body of an outer repeat must take something: register x
  done
};
struct Instruction {
  Code code;
  uint32_t x = 0, y = 0;
  bool flag = false;
  bool operator==(const Instruction&) const = default;
};
struct Regex::Program {
  std::vector<Instruction> code;
  std::vector<CharSet> sets;
  uint32_t registers = 0;
  bool operator==(const Program&) const = default;
};
std::shared_ptr<const Regex::Program> compile_regex(std::string_view pattern);

// Classes by their names, as Oniguruma has them of Unicode's characters; nothing: it has no such name.
std::optional<CharSet> posix_class(std::string_view name);     // [:name:]
std::optional<CharSet> property_class(std::string_view name);  // \p{name}: a category, a script, one of those above
const CharSet& word_characters();                              // \w outside of classes

}  // namespace dyadic::inline v1::text
