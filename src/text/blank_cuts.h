// Where a text of many words can be cut before it becomes tokens, for models that get all of it at once: before a blank sign
// and beside line ends, but where a token goes on over the place. Words alone are short, and most were seen before.
#pragma once
#include <optional>

#include "text/unicode.h"
#include "text/vocabulary.h"

namespace dyadic::inline v1::text {

class BlankCuts {
  static constexpr std::string_view kBlankSign = "\u2581";
  FlatMap<bool> joined_;  // pairs of characters of which the first may end one symbol, the second begin its neighbour
  bool blanks_ = false, lines_ = false;

  static uint64_t pair(char32_t a, char32_t b) { return uint64_t(a) << 32 | b; }
  bool free(std::string_view before, std::string_view after) const {
    return !joined_.find(pair(last_char(before).code, decode_utf8(after, 0).code));
  }

 public:
  // What is cut at must be a token of its own: an unknown character may become one with its neighbour.
  void allow(const Vocabulary& v) { blanks_ = v.find(kBlankSign).has_value(), lines_ = v.find("\n").has_value(); }
  void forbid() { blanks_ = lines_ = false; }
  void join(std::string_view before, std::string_view after) {
    joined_.emplace(pair(last_char(before).code, decode_utf8(after, 0).code), true);
  }
  // The end of the part that begins at `from`, which is below text.size().
  size_t next(std::string_view text, size_t from) const {
    if (!blanks_ && !lines_) return text.size();
    for (size_t i = from + 1; i < text.size(); ++i) {
      const bool line = text[i] == '\n', after_line = text[i - 1] == '\n';
      const bool at_line = lines_ && line != after_line && (uint8_t(text[i]) & 0xc0) != 0x80;
      const bool at_blank = blanks_ && text[i] == kBlankSign[0] && text.substr(i).starts_with(kBlankSign) &&
                            !text.substr(from, i - from).ends_with(kBlankSign);
      if ((at_line || at_blank) && free(text.substr(from, i - from), text.substr(i))) return i;
    }
    return text.size();
  }
};

}  // namespace dyadic::inline v1::text
