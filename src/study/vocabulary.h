// Tokens of the study's models: single bytes, or the characters (Unicode code points) that occur in the corpus.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dyadic::inline v1::study {

enum class TokenKind : uint8_t { bytes, chars };
TokenKind parse_token_kind(std::string_view text);  // "bytes" or "chars"; ValueError names both
const char* token_kind_name(TokenKind kind);

class Vocabulary {
 public:
  Vocabulary() = default;                            // bytes: id = byte
  explicit Vocabulary(std::vector<char32_t> chars);  // sorted, distinct
  static Vocabulary parse(std::string_view saved);   // what save() wrote; ValueError if damaged
  std::string save() const;                          // "bytes", or "chars:" and the characters in UTF-8: for a checkpoint

  TokenKind kind() const { return kind_; }
  int64_t size() const { return kind_ == TokenKind::bytes ? 256 : int64_t(chars_.size()); }
  // ValueError names the character (or the offset of broken UTF-8) that has no id.
  std::vector<int64_t> encode(std::string_view text) const;
  std::string decode(std::span<const int64_t> ids) const;  // ids outside [0, size) become U+FFFD

 private:
  TokenKind kind_ = TokenKind::bytes;
  std::vector<char32_t> chars_;
};

// One code point at text[at], which moves behind it. False where the UTF-8 is broken (surrogates and overlong forms count as
// broken); `at` then stays.
bool next_code_point(std::string_view text, size_t& at, char32_t& out);
void append_utf8(std::string& out, char32_t c);

}  // namespace dyadic::inline v1::study
