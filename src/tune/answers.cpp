#include "tune/answers.h"

namespace dyadic::inline v1::tune {

// Undefined where each row is one text.
static Tensor starts_of(const data::Value& batch) {
  for (auto& [name, value] : batch.named())
    if (name == "starts") return value;
  return {};
}

Tensor logits_of(models::CausalLM& model, const data::Value& batch) {
  const Tensor starts = starts_of(batch);
  return starts.defined() ? model.forward_packed(batch["ids"], starts) : model(batch["ids"]);
}

Tensor Answers::loss(const data::Value& batch) { return model_.summed_loss(batch["ids"], batch["labels"], starts_of(batch)); }

}  // namespace dyadic::inline v1::tune
