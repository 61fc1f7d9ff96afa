// What a language model is judged by: windows of a text, and the loss of each token given those before it in its window.
#pragma once
#include <span>

#include "dyadic/models.h"
#include "study/judged.h"

namespace dyadic::inline v1::study {

// At most so many windows of tokens, i64 [1, window] each, evenly over them: their beginning alone may be a title page.
std::vector<Tensor> windows_over(std::span<const int64_t> ids, int64_t window, int64_t most);

// A text's tokens, and which windows of them are judged; ValueError for a text that is too short.
struct TextWindows {
  std::vector<int64_t> ids;
  int64_t window = 256;  // tokens, of which all but the first have a loss
  int64_t judged = 0;    // so many windows at the end of the text
  TextWindows(std::vector<int64_t> all, int64_t window, int64_t most);
  int64_t begin() const { return int64_t(ids.size()) - judged * window; }  // of the first of them
  std::vector<Tensor> before(int64_t most) const;                          // windows of the text before those; one at least
};

class LanguageText : public Judged {
  const TextWindows& text_;
  int64_t vocabulary_;

 public:
  LanguageText(const TextWindows& text, const models::CausalLM& model);  // borrows the text
  void evaluation(int64_t size, FunctionRef<bool(const data::Value&)> each) override;
  Tensor losses(nn::Module& model, const data::Value& batch, Tensor* logits) override;
  int64_t window() const override { return text_.window - 1; }
};

}  // namespace dyadic::inline v1::study
