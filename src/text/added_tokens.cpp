// Finding added tokens in a text.
#include "text/added_tokens.h"

#include <algorithm>

#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

bool ends_in_word(std::string_view s) { return !s.empty() && is_word(last_char(s).code); }
bool begins_with_word(std::string_view s) { return !s.empty() && is_word(decode_utf8(s, 0).code); }
size_t without_spaces_at_end(std::string_view s) {
  while (!s.empty() && is_space(last_char(s).code)) s.remove_suffix(last_char(s).size);
  return s.size();
}
size_t spaces_at_begin(std::string_view s) {
  size_t i = 0;
  for (Char c; i < s.size() && is_space((c = decode_utf8(s, i)).code);) i += c.size;
  return i;
}

}  // namespace

void AddedTokens::add(AddedToken token, std::string_view content) {
  if (content.empty()) return;
  uint32_t node = 0;
  first_[uint8_t(content[0])] = true;
  for (char c : content) {
    auto [child, made] = children_.emplace(uint64_t(node) << 8 | uint8_t(c), uint32_t(ends_at_.size()));
    if (made) ends_at_.push_back(-1);
    node = *child;
  }
  ends_at_[node] = int32_t(tokens_.size());
  tokens_.push_back(std::move(token));
}

void AddedTokens::split(std::string_view text, bool at_start, const std::function<void(std::string_view, bool)>& between,
                        const std::function<void(int64_t)>& found) const {
  size_t last = 0;  // where what was not given yet begins
  for (size_t i = 0; i < text.size();) {
    if (!first_[uint8_t(text[i])]) {
      ++i;
      continue;
    }
    const AddedToken* token = nullptr;
    size_t end = i;
    uint32_t node = 0;
    for (size_t k = i; k < text.size(); ++k) {
      const uint32_t* child = children_.find(uint64_t(node) << 8 | uint8_t(text[k]));
      if (!child) break;
      node = *child;
      if (ends_at_[node] >= 0) token = &tokens_[size_t(ends_at_[node])], end = k + 1;
    }
    if (!token) {
      ++i;
      continue;
    }
    const size_t match = i;
    i = end;
    if (token->word && (ends_in_word(text.substr(0, match)) || begins_with_word(text.substr(end)))) continue;
    // A token that took the spaces to its right may have taken the beginning of this one.
    const size_t begin = std::max(last, token->left ? without_spaces_at_end(text.substr(0, match)) : match);
    if (token->right) end += spaces_at_begin(text.substr(end));
    if (begin > last) between(text.substr(last, begin - last), at_start && last == 0);
    found(token->id);
    last = std::max(last, end);
  }
  if (last < text.size()) between(text.substr(last), at_start && last == 0);
}

}  // namespace dyadic::inline v1::text
