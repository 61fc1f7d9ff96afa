// Tokens that are found in the text itself before it is cut: special ones and those that were added later.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/stages.h"

namespace dyadic::inline v1::text {

struct AddedToken {
  std::string content;
  int64_t id = 0;
  bool special = false, normalized = false;        // normalized: it is looked for in normalized text
  bool left = false, right = false, word = false;  // it takes the spaces beside it; it must stand alone
};

// Finds tokens from the left, of those that begin at one place the longest.
class AddedTokens {
  std::vector<AddedToken> tokens_;
  FlatMap<uint32_t> children_;
  std::vector<int32_t> ends_at_{-1};
  bool first_[256] = {};

 public:
  void add(AddedToken token, std::string_view content);
  bool empty() const { return tokens_.empty(); }
  // Calls between(text, at_start) and found(id) in the order of the text. `at_start`: `text` begins the whole text.
  void split(std::string_view text, bool at_start, const std::function<void(std::string_view, bool)>& between,
             const std::function<void(int64_t)>& found) const;
};

}  // namespace dyadic::inline v1::text
