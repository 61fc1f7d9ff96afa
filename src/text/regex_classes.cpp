// Classes of characters that regular expressions name.
#include "text/regex_program.h"

namespace dyadic::inline v1::text {
namespace {

constexpr std::string_view kCategoryNames = "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCoCn";
constexpr uint32_t bits(Category first, Category last) { return (2u << unsigned(last)) - (1u << unsigned(first)); }
constexpr uint32_t bit(Category c) { return bits(c, c); }

}  // namespace

std::optional<CharSet> posix_class(std::string_view name) {
  CharSet s;
  if (name == "alpha" || name == "alphabetic" || name == "alnum" || name == "word") s.alphabetic = true;
  if (name == "alnum" || name == "word" || name == "digit") s.categories = bit(Category::Nd);
  if (name == "word") s.categories |= bits(Category::Mn, Category::Me) | bit(Category::Pc);
  if (name == "lower" || name == "lowercase") s.lowercase = true;
  if (name == "upper" || name == "uppercase") s.uppercase = true;
  if (name == "space" || name == "whitespace") s.space = true;
  if (name == "punct") s.categories = bits(Category::Pc, Category::So);
  if (name == "cntrl") s.categories = bit(Category::Cc);
  if (name == "blank" || name == "print") s.categories = bit(Category::Zs);
  if (name == "blank") s.ranges = {{'\t', '\t'}};
  if (name == "ascii") s.ranges = {{0, 127}};
  if (name == "any") s.ranges = {{0, kBadByte - 1}};
  if (name == "xdigit") s.ranges = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
  if (name == "graph" || name == "print") {
    CharSet none;
    none.negated = none.space = true;
    none.categories = bit(Category::Cc) | bit(Category::Cs) | bit(Category::Cn);
    s.inner = {none};
  }
  return s == CharSet() ? std::nullopt : std::optional(s);
}

std::optional<CharSet> property_class(std::string_view name) {
  std::string plain;  // neither case nor what stands between words counts
  for (char c : name.starts_with("Script=") ? name.substr(7) : name)
    if (c != ' ' && c != '_' && c != '-') plain += char(c >= 'A' && c <= 'Z' ? c | 32 : c);
  CharSet s;
  if (plain == "punct") plain = "p";
  for (size_t i = 0; i < kCategoryNames.size(); i += 2)
    if (plain[0] == (kCategoryNames[i] | 32) && (plain.size() == 1 || plain.substr(1) == kCategoryNames.substr(i + 1, 1)))
      s.categories |= 1u << (i / 2);
  if (s.categories) return s;
  if (plain == "word") return word_characters();
  if (auto found = posix_class(plain)) return found;
  if (!plain.empty()) plain[0] = char(plain[0] & ~32);
  const int number = script(plain);
  if (number < 0) return {};
  s.scripts.push_back(number);
  return s;
}

// Oniguruma looks Latin-1 up in a table of its own there, which has some numbers too.
const CharSet& word_characters() {
  static const CharSet word = [] {
    CharSet s = *posix_class("word");
    s.ranges = {{0xb2, 0xb3}, {0xb9, 0xb9}, {0xbc, 0xbe}};
    s.finish();
    return s;
  }();
  return word;
}

}  // namespace dyadic::inline v1::text
