// Bytes and characters as tokens.
#include "study/vocabulary.h"

#include <algorithm>

#include "base/check.h"

namespace dyadic::inline v1::study {

TokenKind parse_token_kind(std::string_view text) {
  if (text == "bytes") return TokenKind::bytes;
  if (text == "chars") return TokenKind::chars;
  fail<ValueError>("tokens: unknown kind: \"{}\"; use bytes or chars", text);
}

const char* token_kind_name(TokenKind kind) { return kind == TokenKind::bytes ? "bytes" : "chars"; }

bool next_code_point(std::string_view text, size_t& at, char32_t& out) {
  const auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
  const uint8_t lead = byte(at);
  const int extra = lead < 0x80                   ? 0
                    : lead >= 0xC2 && lead < 0xE0 ? 1
                    : lead >= 0xE0 && lead < 0xF0 ? 2
                    : lead >= 0xF0 && lead < 0xF5 ? 3
                                                  : -1;
  if (extra < 0 || at >= text.size()) return false;
  char32_t c = extra == 0 ? lead : lead & (0x3F >> extra);
  for (int i = 1; i <= extra; ++i) {
    const uint8_t next = byte(at + size_t(i));
    if ((next & 0xC0) != 0x80) return false;
    c = c << 6 | (next & 0x3F);
  }
  if (extra == 2 && (c < 0x800 || (c >= 0xD800 && c < 0xE000))) return false;  // overlong, surrogate
  if (extra == 3 && (c < 0x10000 || c > 0x10FFFF)) return false;
  at += size_t(extra) + 1;
  out = c;
  return true;
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += char(c);
  } else if (c < 0x800) {
    out += char(0xC0 | c >> 6);
    out += char(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += char(0xE0 | c >> 12);
    out += char(0x80 | (c >> 6 & 0x3F));
    out += char(0x80 | (c & 0x3F));
  } else {
    out += char(0xF0 | c >> 18);
    out += char(0x80 | (c >> 12 & 0x3F));
    out += char(0x80 | (c >> 6 & 0x3F));
    out += char(0x80 | (c & 0x3F));
  }
}

Vocabulary::Vocabulary(std::vector<char32_t> chars) : kind_(TokenKind::chars), chars_(std::move(chars)) {
  DY_ASSERT(std::adjacent_find(chars_.begin(), chars_.end(), std::greater_equal<>()) == chars_.end());
}

std::string Vocabulary::save() const {
  if (kind_ == TokenKind::bytes) return "bytes";
  std::string text = "chars:";
  for (char32_t c : chars_) append_utf8(text, c);
  return text;
}

Vocabulary Vocabulary::parse(std::string_view saved) {
  if (saved == "bytes") return {};
  constexpr std::string_view kDamaged = "vocabulary: the saved text is damaged: {}; use the checkpoint it came with";
  DY_CHECK_AS(ValueError, saved.starts_with("chars:"), kDamaged, "it begins with neither \"bytes\" nor \"chars:\"");
  std::vector<char32_t> chars;
  for (size_t at = 6; at < saved.size();) {
    char32_t c = 0;
    DY_CHECK_AS(ValueError, next_code_point(saved, at, c), kDamaged, "broken UTF-8");
    DY_CHECK_AS(ValueError, chars.empty() || chars.back() < c, kDamaged, "the characters are not in order");
    chars.push_back(c);
  }
  return Vocabulary(std::move(chars));
}

std::vector<int64_t> Vocabulary::encode(std::string_view text) const {
  std::vector<int64_t> ids;
  ids.reserve(text.size());
  if (kind_ == TokenKind::bytes) {
    for (char c : text) ids.push_back(uint8_t(c));
    return ids;
  }
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    char32_t c = 0;
    DY_CHECK_AS(ValueError, next_code_point(text, at, c),
                "encode: the text is not UTF-8: broken at byte {}; use a model trained on bytes", begin);
    const auto it = std::lower_bound(chars_.begin(), chars_.end(), c);
    DY_CHECK_AS(ValueError, it != chars_.end() && *it == c,
                "encode: a character has no token: '{}' (U+{:04X}) at byte {} did not occur in the training text; leave it out",
                text.substr(begin, at - begin), uint32_t(c), begin);
    ids.push_back(it - chars_.begin());
  }
  return ids;
}

std::string Vocabulary::decode(std::span<const int64_t> ids) const {
  std::string text;
  for (int64_t id : ids) {
    if (id < 0 || id >= size()) {
      append_utf8(text, 0xFFFD);
    } else if (kind_ == TokenKind::bytes) {
      text += char(uint8_t(id));
    } else {
      append_utf8(text, chars_[size_t(id)]);
    }
  }
  return text;
}

}  // namespace dyadic::inline v1::study
