// The well-known patterns as loops: five to twenty times as fast as running the expression. They are found by comparing the
// text of the pattern; tests hold them to the expression on every character.
#include "text/split_matchers.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

enum Class : uint8_t { letter, number, space, line_end, other };  // line_end: \r and \n, spaces too

Class class_of_code(char32_t c) {
  if (c == '\r' || c == '\n') return line_end;
  if (is_letter(c)) return letter;
  if (is_number(c)) return number;
  return is_space(c) ? space : other;
}
constexpr auto kAscii = [] {
  std::array<Class, 128> t{};
  for (int c = 0; c < 128; ++c) {
    const int l = c | 32;
    t[size_t(c)] = c == '\r' || c == '\n'          ? line_end
                   : l >= 'a' && l <= 'z'          ? letter
                   : c >= '0' && c <= '9'          ? number
                   : c == ' ' || (c > 8 && c < 14) ? space
                                                   : other;
  }
  return t;
}();

struct Reader {
  std::string_view text;
  // The class of the character at `at` and its size; beyond the end the size is 0.
  Class at(size_t i, size_t& size) const {
    if (i >= text.size()) return size = 0, other;
    const uint8_t b = uint8_t(text[i]);
    if (b < 128) return size = 1, kAscii[b];
    const Char c = decode_utf8(text, i);
    size = c.size;
    return class_of_code(c.code);
  }
  template <class Is> size_t skip(size_t i, Is is) const {
    for (size_t n = 0;; i += n)
      if (Class k = at(i, n); !n || !is(k)) return i;
  }
  size_t letters(size_t i) const {
    return skip(i, [](Class k) { return k == letter; });
  }
  size_t others(size_t i) const {
    return skip(i, [](Class k) { return k == other; });
  }
  // \s+(?!\S)|\s+: a run of spaces, but for the last one before something else.
  size_t spaces(size_t begin) const {
    size_t i = begin, last = begin;
    for (size_t n = 0;; i += n) {
      const Class k = at(i, n);
      if (!n) return i;
      if (k != space && k != line_end) break;
      last = i;
    }
    return last > begin ? last : i;
  }
  size_t contraction(size_t i, bool fold) const {  // behind the apostrophe; i: there is none
    const auto get = [&](size_t k) -> char {
      return k < text.size() ? (fold && text[k] >= 'A' && text[k] <= 'Z' ? char(text[k] | 32) : text[k]) : 0;
    };
    const char a = get(i), b = get(i + 1);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return i + 1;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return i + 2;
    if (fold && text.substr(i).starts_with("\xc5\xbf")) return i + 2;  // the long s
    return i;
  }
};

size_t gpt2(std::string_view text, size_t at) {
  const Reader r{text};
  if (text[at] == '\'')
    if (size_t end = r.contraction(at + 1, false); end > at + 1) return end;
  size_t n = 0, m = 0;
  Class k = r.at(at, n);
  size_t begin = at + n;
  if (text[at] == ' ') {
    const Class next = r.at(at + 1, m);
    if (!m || next == space || next == line_end) return r.spaces(at);
    k = next;
    begin = at + 1 + m;
  }
  if (k == space || k == line_end) return r.spaces(at);
  return r.skip(begin, [k](Class c) { return c == k; });
}

// cl100k's family. Digits stand in groups of so many.
template <int digits> size_t cl100k(std::string_view text, size_t at) {
  const Reader r{text};
  if (text[at] == '\'')
    if (size_t end = r.contraction(at + 1, true); end > at + 1) return end;
  size_t n = 0, m = 0;
  const Class k = r.at(at, n);
  if (k == letter) return r.letters(at + n);
  if (k == number) {
    size_t end = at + n;
    for (int i = 1; i < digits && r.at(end, m) == number && m; ++i) end += m;
    return end;
  }
  const Class next = r.at(at + n, m);
  if (k != line_end && m && next == letter) return r.letters(at + n + m);
  const bool blank_before = text[at] == ' ' && m && next == other;
  if (k == other || blank_before) return r.skip(r.others(at + n), [](Class c) { return c == line_end; });
  const size_t run = r.skip(at, [](Class c) { return c == space || c == line_end; });
  for (size_t end = run; end > at; --end)  // \s*[\r\n]+: to the run's last line end
    if (text[end - 1] == '\n' || text[end - 1] == '\r') return end;
  return r.spaces(at);
}

struct Known {
  std::string_view pattern;
  Match match;
};
constexpr std::string_view kCl100kTail = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kCl100kHead = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)";

}  // namespace

const char* const kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Match known_matcher(std::string_view pattern) {
  if (pattern == kGpt2Pattern || pattern == R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)")
    return gpt2;
  if (!pattern.starts_with(kCl100kHead) || !pattern.ends_with(kCl100kTail)) return nullptr;
  const std::string_view digits = pattern.substr(kCl100kHead.size(), pattern.size() - kCl100kHead.size() - kCl100kTail.size());
  if (digits == R"(\p{N}{1,3})") return cl100k<3>;
  if (digits == R"(\p{N})") return cl100k<1>;
  return nullptr;
}

Splitter Splitter::by_text(std::string text) {
  Splitter s;
  s.literal_ = std::move(text);
  return s;
}
Splitter Splitter::by_regex(std::string_view pattern) {
  Splitter s;
  s.match_ = known_matcher(pattern);
  if (!s.match_) s.regex_ = std::make_shared<const Regex>(pattern);
  return s;
}
Splitter Splitter::from_json(const Json& p) {
  if (p.is_string()) return by_text(p.get<std::string>());
  if (p.is_object() && p.contains("String")) return by_text(text_field(p, "String"));
  if (p.is_object() && p.contains("Regex")) return by_regex(text_field(p, "Regex"));
  fail<ValueError>("pattern: neither a String nor a Regex");
}
std::optional<Regex::Span> Splitter::find(std::string_view text, size_t from) const {
  if (match_) return from < text.size() ? std::optional(Regex::Span{from, match_(text, from)}) : std::nullopt;
  if (regex_) return regex_->find(text, from);
  const size_t at = literal_.empty() ? text.npos : text.find(literal_, from);
  return at == text.npos ? std::nullopt : std::optional(Regex::Span{at, at + literal_.size()});
}
void Splitter::replace(std::string& text, std::string_view content) const {
  if (text.empty()) return;  // has no match
  std::string out;
  size_t last = 0;
  bool any = false;
  each_match(
      text, [this](std::string_view s, size_t from) { return find(s, from); },
      [&](Regex::Span m) {
        out.append(text, last, m.begin - last);
        out += content;
        last = m.end;
        any = true;
      });
  if (any) text = out.append(text, last);
}

Behavior parse_behavior(std::string_view name) {
  constexpr std::pair<std::string_view, Behavior> kNames[] = {{"Removed", Behavior::removed},
                                                              {"Isolated", Behavior::isolated},
                                                              {"MergedWithPrevious", Behavior::merged_with_previous},
                                                              {"MergedWithNext", Behavior::merged_with_next},
                                                              {"Contiguous", Behavior::contiguous}};
  for (auto [n, b] : kNames)
    if (n == name) return b;
  fail<ValueError>("behavior \"{}\" is not known", valid_utf8(name));
}

}  // namespace dyadic::inline v1::text
