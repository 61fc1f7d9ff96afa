// The loss of a language model. Logits [tokens, vocab] are the largest thing that a step makes: 4,096 tokens of a vocabulary of
// 150,000 take 2.5 GB, and their gradient as much. Beyond a limit they are made in bands, each of which backward makes again.
#include "models/loss.h"

#include <algorithm>

#include "base/check.h"
#include "dyadic/checkpoint.h"
#include "dyadic/dyadic.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::models {

int64_t g_most_logit_bytes = 256 << 20;
constexpr int64_t kFewestRows = 64;

// A mean is of the logits' dtype, a sum of f32 at least.
static Tensor cross_entropy_of(Tensor logits, const Tensor& labels, bool mean) {
  if (!mean && logits.dtype() != f64) logits = logits.to(f32);
  return cross_entropy(logits, labels, mean ? "mean" : "sum", kNoLabel);
}

// hidden [N, width], labels [N].
Tensor CausalLM::loss_of(const Tensor& hidden, const Tensor& labels, bool mean) {
  const int64_t n = hidden.size(0), row_bytes = 4 * vocab_size();
  if (n * row_bytes <= g_most_logit_bytes) return cross_entropy_of(head(hidden), labels, mean);
  const int64_t band = std::max(g_most_logit_bytes / row_bytes, std::min(kFewestRows, n));
  Tensor sum;
  for (int64_t i = 0; i < n; i += band) {
    const Tensor x = narrow(hidden, 0, i, std::min(band, n - i)), y = narrow(labels, 0, i, std::min(band, n - i));
    const auto of_band = [this, y](const Tensor& rows) { return cross_entropy_of(head(rows), y, false); };
    const Tensor one = GradMode::enabled() ? checkpoint(of_band, x) : of_band(x);
    sum = sum.defined() ? sum + one : one;
  }
  if (!mean) return sum;
  return (sum / dyadic::sum((labels != kNoLabel).to(sum.dtype()))).to(hidden.dtype());
}

Tensor CausalLM::loss(const Tensor& ids, const Tensor& labels) {
  const nn::ModuleScope scope(*this);
  DY_CHECK_AS(ValueError, labels.sizes() == ids.sizes() && ids.size(1) >= 2,
              "loss: labels are as ids, two or more in a row: labels are {}, ids are {}", describe(labels), describe(ids));
  const int64_t n = ids.size(1) - 1;
  const Tensor all = hidden(ids, {});
  return loss_of(narrow(all, 1, 0, n).reshape({-1, all.size(2)}), narrow(labels, 1, 1, n).reshape({-1}), true);
}

Tensor CausalLM::summed_loss(const Tensor& ids, const Tensor& labels, const Tensor& starts) {
  const nn::ModuleScope scope(*this);
  DY_CHECK_AS(ValueError, labels.sizes() == ids.sizes(), "summed_loss: labels are as ids: labels are {}, ids are {}",
              describe(labels), describe(ids));
  if (starts.defined()) check_starts("summed_loss", ids, starts);
  const Tensor all = hidden(ids, {.pad = starts});
  return loss_of(all.reshape({-1, all.size(2)}), labels.reshape({-1}), false);
}

}  // namespace dyadic::inline v1::models
