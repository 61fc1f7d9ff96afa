// Characters: tables of Unicode unpacked when first asked for, and UTF-8.
#include "text/unicode.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "text/unicode_packed.h"

namespace dyadic::inline v1::text {
namespace {

#include "text/unicode_tables.inc"

constexpr size_t kCodes = 0x110000;

struct Tables {
  std::vector<Category> category;
  std::vector<std::pair<char32_t, char32_t>> lower, upper;  // sorted by the first
  using Ranges = std::vector<char32_t>;                     // where one begins, ends, the next begins
  std::vector<Ranges> scripts;
  Ranges marks, accents, punctuation, controls, numbers, alphabetic, lowercase, uppercase;
};

Tables::Ranges ranges(Unpacker& in, size_t most) {
  Tables::Ranges all;
  for (char32_t at = 0; all.size() < most && in.more();) all.push_back(at += in.next());
  return all;
}
bool in_ranges(const Tables::Ranges& all, char32_t code) {
  return code < kCodes && (std::upper_bound(all.begin(), all.end(), code) - all.begin()) % 2;
}

Tables make_tables() {
  Tables t;
  t.category.reserve(kCodes);
  for (Unpacker in(kCategoryRuns); in.more();) {
    const uint32_t run = in.next();
    t.category.insert(t.category.end(), run, Category(in.next()));
  }
  char32_t code = 0;
  for (Unpacker in(kLower); in.more();) {
    code += in.next();
    const uint32_t d = in.next();
    const char32_t low = code + (d & 1 ? -int32_t(d + 1) / 2 : int32_t(d / 2));
    t.lower.emplace_back(code, low);
    // Titlecase digraphs, the ohm, kelvin and angstrom signs have lower cases whose upper case is another letter.
    if (t.category[code] == Category::Lu && code != 0x2126 && code != 0x212a && code != 0x212b && code != 0x1e9e)
      t.upper.emplace_back(low, code);
  }
  std::sort(t.upper.begin(), t.upper.end());
  for (Unpacker in(kScriptRuns); in.more();) {
    const size_t n = in.next();
    t.scripts.push_back(ranges(in, n));
  }
  for (auto& [to, packed] : {std::pair(&t.marks, kMarks9),
                             {&t.accents, kAccents8},
                             {&t.punctuation, kPunctuation8},
                             {&t.controls, kControls8},
                             {&t.numbers, kNumbers17},
                             {&t.alphabetic, kAlpha16},
                             {&t.lowercase, kLower16},
                             {&t.uppercase, kUpper16}}) {
    Unpacker in(packed);
    *to = ranges(in, SIZE_MAX);
  }
  return t;
}
const Tables& tables() {
  static const Tables t = make_tables();
  return t;
}
char32_t mapped(const std::vector<std::pair<char32_t, char32_t>>& map, char32_t code) {
  auto at = std::lower_bound(map.begin(), map.end(), std::pair(code, char32_t(0)));
  return at != map.end() && at->first == code ? at->second : code;
}

}  // namespace

Category category(char32_t code) {
  static const Category* const table = tables().category.data();
  return code < kCodes ? table[code] : Category::Cn;
}
bool is_word(char32_t c) {
  if (c < 128) return is_letter(c) || is_number(c) || c == '_';
  const Category k = category(c);
  return k <= Category::Nl || k == Category::Pc || c == 0x200c || c == 0x200d || is_alphabetic(c);
}
int script(std::string_view name) {
  for (size_t i = 0; i < std::size(kScriptNames); ++i)
    if (name == kScriptNames[i]) return int(i);
  return -1;
}
bool in_script(char32_t code, int script) { return in_ranges(tables().scripts[size_t(script)], code); }
bool is_alphabetic(char32_t c) { return in_ranges(tables().alphabetic, c); }
bool is_lowercase(char32_t c) { return in_ranges(tables().lowercase, c); }
bool is_uppercase(char32_t c) { return in_ranges(tables().uppercase, c); }
bool is_mark(char32_t c) { return in_ranges(tables().marks, c); }
bool is_accent(char32_t c) { return in_ranges(tables().accents, c); }
bool is_punctuation(char32_t c) { return in_ranges(tables().punctuation, c); }
bool is_control(char32_t c) { return in_ranges(tables().controls, c); }
bool is_numeric(char32_t c) { return in_ranges(tables().numbers, c); }
char32_t lower(char32_t c) {
  if (c < 128) return c - 'A' < 26 ? c + 32 : c;
  return mapped(tables().lower, c);
}

std::string lower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Char c = decode_utf8(text, i);
    if (c.code == 0x130)
      out += "i\xcc\x87";  // the one letter whose lower case is two
    else
      append_utf8(out, lower(c.code));
    i += c.size;
  }
  return out;
}
std::string upper(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const Char c = decode_utf8(text, i);
    if (c.code == 0xdf)
      out += "SS";
    else
      append_utf8(out, c.code < 128 ? (c.code - 'a' < 26 ? c.code - 32 : c.code) : mapped(tables().upper, c.code));
    i += c.size;
  }
  return out;
}

Char decode_utf8(std::string_view s, size_t at) {
  const auto b = [&](size_t i) -> uint32_t { return at + i < s.size() ? uint8_t(s[at + i]) : 0; };
  const auto tail = [&](size_t i) { return (b(i) & 0xc0) == 0x80; };
  const uint32_t a = b(0);
  if (a < 0x80) return {a, 1};
  if (a >= 0xc2 && a < 0xe0 && tail(1)) return {(a & 31) << 6 | (b(1) & 63), 2};
  if (a >= 0xe0 && a < 0xf0 && tail(1) && tail(2)) {
    const char32_t c = (a & 15) << 12 | (b(1) & 63) << 6 | (b(2) & 63);
    if (c >= 0x800 && c - 0xd800 >= 0x800) return {c, 3};
  }
  if (a >= 0xf0 && a < 0xf5 && tail(1) && tail(2) && tail(3)) {
    const char32_t c = (a & 7) << 18 | (b(1) & 63) << 12 | (b(2) & 63) << 6 | (b(3) & 63);
    if (c >= 0x10000 && c < kCodes) return {c, 4};
  }
  return {kBadByte + a, 1};
}
void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += char(c);
  } else if (c >= kBadByte) {
    out += char(c - kBadByte);
  } else if (c < 0x800) {
    out += {char(0xc0 | c >> 6), char(0x80 | (c & 63))};
  } else if (c < 0x10000) {
    out += {char(0xe0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
  } else {
    out += {char(0xf0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
  }
}
Char last_char(std::string_view text) {
  for (size_t n = std::min<size_t>(4, text.size()); n > 1; --n)
    if (Char c = decode_utf8(text, text.size() - n); c.size == n) return c;
  return {decode_utf8(text, text.size() - 1).code, 1};
}

std::string valid_utf8(std::string_view s) {
  std::string out;
  for (size_t i = 0; i < s.size();) {
    const Char c = decode_utf8(s, i);
    if (c.code < kBadByte) {
      out.append(s, i, c.size);
      i += c.size;
      continue;
    }
    append_utf8(out, 0xfffd);
    // As long as it could still have become a character: the second byte's range depends on the first.
    const uint8_t a = uint8_t(s[i++]);
    const size_t want = a >= 0xf0 && a < 0xf5 ? 3 : a >= 0xe0 && a < 0xf0 ? 2 : 0;
    for (size_t k = 0; k < want && i < s.size(); ++k, ++i) {
      const uint8_t b = uint8_t(s[i]);
      const uint8_t low = k ? 0x80 : a == 0xe0 ? 0xa0 : a == 0xf0 ? 0x90 : 0x80;
      const uint8_t high = k ? 0xbf : a == 0xed ? 0x9f : a == 0xf4 ? 0x8f : 0xbf;
      if (b < low || b > high) break;
    }
  }
  return out;
}
size_t utf8_length(std::string_view text) {
  size_t n = 0;
  for (size_t i = 0; i < text.size(); ++n) i += decode_utf8(text, i).size;
  return n;
}

// What unicode_normal_forms.cpp reads.
const char* packed_decompositions() { return kDecompositions; }
const char* packed_combining_runs() { return kCombiningRuns; }

}  // namespace dyadic::inline v1::text
