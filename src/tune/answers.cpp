#include "tune/answers.h"

namespace dyadic::inline v1::tune {

Tensor logits_of(models::CausalLM& model, const data::Value& batch) {
  const Tensor& ids = batch["ids"];
  for (auto& [name, value] : batch.named())
    if (name == "starts") return model.forward_packed(ids, value);
  return model(ids);
}

Tensor Answers::loss(const data::Value& batch) {
  Tensor starts;
  for (auto& [name, value] : batch.named())
    if (name == "starts") starts = value;
  return model_.summed_loss(batch["ids"], batch["labels"], starts);
}

}  // namespace dyadic::inline v1::tune
