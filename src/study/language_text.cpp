#include "study/language_text.h"

#include <algorithm>

#include "base/check.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::study {

TextWindows::TextWindows(std::vector<int64_t> all, int64_t length, int64_t most) : ids(std::move(all)), window(length) {
  const int64_t whole = int64_t(ids.size()) / window;
  DY_CHECK_AS(ValueError, whole >= 2,
              "the text has {} tokens; two windows of {} are needed at least: give more text, or a "
              "smaller window",
              ids.size(), window);
  judged = std::min(most, (whole + 1) / 2);  // the rest is there to calibrate with
}

std::vector<Tensor> windows_over(std::span<const int64_t> ids, int64_t window, int64_t most) {
  const int64_t whole = int64_t(ids.size()) / window, count = std::min(whole, most);
  std::vector<Tensor> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(from_data(ids.data() + i * whole / count * window, {1, window}, i64));
  return all;
}

std::vector<Tensor> TextWindows::before(int64_t most) const {
  return windows_over(std::span(ids).first(size_t(begin())), window, most);
}

LanguageText::LanguageText(const TextWindows& text, const models::CausalLM& model)
    : text_(text), vocabulary_(std::max<int64_t>(model.vocab_size(), 1)) {
  const int64_t most = model.most_tokens();
  DY_CHECK_AS(ValueError, most == 0 || text.window <= most, "the window has {} tokens, and the model reads {}", text.window,
              most);
}

void LanguageText::evaluation(int64_t size, FunctionRef<bool(const data::Value&)> each) {
  constexpr int64_t kMostBytes = 64 << 20;  // of a batch's logits
  const int64_t fit = kMostBytes / (4 * text_.window * vocabulary_), rows = std::clamp<int64_t>(size ? fit : 1, 1, 8);
  const CategoryScope scope(Category::data);
  for (int64_t i = 0; i < text_.judged; i += rows) {
    const int64_t n = std::min(rows, text_.judged - i);
    if (!each(from_data(text_.ids.data() + text_.begin() + i * text_.window, {n, text_.window}, i64))) return;
  }
}

Tensor LanguageText::losses(nn::Module& model, const data::Value& batch, Tensor* logits) {
  const Tensor ids = batch.tensor(), all = model(ids);
  const int64_t n = ids.size(1) - 1;
  const Tensor rows = narrow(all, 1, 0, n).reshape({-1, all.size(2)}).to(f32);
  if (logits) *logits = rows;
  return cross_entropy(rows, narrow(ids, 1, 1, n).reshape({-1}), "none").contiguous();
}

}  // namespace dyadic::inline v1::study
