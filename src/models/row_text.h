// The text of a row of tokens while they come, and where a stop string ends it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "dyadic/tokenizer.h"

namespace dyadic::inline v1::models {

// Stop strings are looked for in the text with its special tokens, so that "<|im_end|>" is found; the text that is shown is
// without them, and without the stop string and what follows it.
class RowText {
  TokenStream shown_stream_, whole_stream_;
  Tokenizer tokenizer_;
  std::vector<std::string> stops_;
  std::string whole_;                              // with special tokens; empty where there are no stop strings
  std::vector<std::pair<size_t, size_t>> hidden_;  // of it: special tokens, [begin, end)
  size_t given_ = 0;
  bool stopped_ = false;

 public:
  std::string text;  // that is shown
  RowText(const Tokenizer& t, std::vector<std::string> stops);
  bool stopped() const { return stopped_; }
  // What is new and certain: never half a character, nor what a stop string may begin with.
  std::string_view push(int64_t token);
  std::string_view finish();  // what is left

 private:
  void look(size_t from);
  size_t uncertain() const;
  size_t shown_after(size_t begin) const;  // bytes shown of what stands in whole_ from there on
  std::string_view give(size_t end);
};

}  // namespace dyadic::inline v1::models
