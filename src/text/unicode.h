// Characters as Hugging Face's tokenizers 0.23 know them, which have four Unicodes: 17 for lower case and numbers, 16 for
// categories and scripts, which patterns name, 9 for normal forms and the marks that StripAccents drops, 8 for BERT's accents,
// punctuation and control characters. And UTF-8 that keeps whatever bytes it is given.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace dyadic::inline v1::text {

enum class Category : uint8_t {
  Lu,
  Ll,
  Lt,
  Lm,
  Lo,
  Mn,
  Mc,
  Me,
  Nd,
  Nl,
  No,
  Pc,
  Pd,
  Ps,
  Pe,
  Pi,
  Pf,
  Po,
  Sm,
  Sc,
  Sk,
  So,
  Zs,
  Zl,
  Zp,
  Cc,
  Cf,
  Cs,
  Co,
  Cn
};

// A character of UTF-8, or a byte that begins none: code is then kBadByte + the byte, in a range that no valid text has.
constexpr char32_t kBadByte = 0x110000;
struct Char {
  char32_t code;
  uint32_t size;
};
Char decode_utf8(std::string_view text, size_t at);  // at < text.size()
void append_utf8(std::string& out, char32_t code);   // a bad byte becomes that byte again
Char last_char(std::string_view text);               // the character that a text that is not empty ends in

Category category(char32_t code);  // of a bad byte: Cn
inline bool is_letter(char32_t c) { return c < 128 ? (c | 32) - 'a' < 26 : category(c) <= Category::Lo; }
inline bool is_number(char32_t c) {
  return c < 128 ? c - '0' < 10 : category(c) >= Category::Nd && category(c) <= Category::No;
}
bool is_mark(char32_t c);           // of Unicode 9
bool is_accent(char32_t c);         // a mark that takes no space, of Unicode 8
bool is_punctuation(char32_t c);    // of Unicode 8
bool is_control(char32_t c);        // of Unicode 8: Cc, Cf and Co
bool is_numeric(char32_t c);        // of Unicode 17
inline bool is_space(char32_t c) {  // White_Space
  if (c < 128) return c == ' ' || c - 9 < 5;
  return c == 0x85 || c == 0xa0 || c == 0x1680 || c - 0x2000 < 11 || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}
bool is_alphabetic(char32_t c);  // these three are properties, of Unicode 16
bool is_lowercase(char32_t c);
bool is_uppercase(char32_t c);
bool is_word(char32_t c);           // \w of Rust's regular expressions
int script(std::string_view name);  // a number for in_script; -1: not in the tables
bool in_script(char32_t code, int script);
char32_t lower(char32_t code);  // one character for one
std::string lower(std::string_view text);
std::string upper(std::string_view text);

enum class Form : uint8_t { nfc, nfd, nfkc, nfkd };
std::string normalize(std::string_view text, Form form);

// Bytes that are no UTF-8 become U+FFFD, one for each longest beginning of a character.
std::string valid_utf8(std::string_view text);
size_t utf8_length(std::string_view text);  // characters

}  // namespace dyadic::inline v1::text
