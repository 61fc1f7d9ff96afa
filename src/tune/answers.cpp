#include "tune/answers.h"

namespace dyadic::inline v1::tune {

Tensor logits_of(models::CausalLM& model, const data::Value& batch) {
  const Tensor& ids = batch["ids"];
  for (auto& [name, value] : batch.named())
    if (name == "starts") return model.forward_packed(ids, value);
  return model(ids);
}

Tensor Answers::loss(const data::Value& batch) {
  const Tensor logits = logits_of(model_, batch), &labels = batch["labels"];
  const Tensor rows = logits.reshape({-1, logits.size(2)});
  return cross_entropy(rows.dtype() == f64 ? rows : rows.to(f32), labels.reshape({-1}), "sum", kNotLearned);
}

}  // namespace dyadic::inline v1::tune
