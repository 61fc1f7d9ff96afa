// The loss of a language model over what is learned of rows.
#pragma once
#include "dyadic/models.h"
#include "tune/loop.h"
#include "tune/rows.h"

namespace dyadic::inline v1::tune {

// [B, T, vocab] of a batch of rows.
Tensor logits_of(models::CausalLM& model, const data::Value& batch);

class Answers : public Lesson {
  models::CausalLM& model_;

 public:
  explicit Answers(models::CausalLM& model) : model_(model) {}
  Tensor loss(const data::Value& batch) override;
};

}  // namespace dyadic::inline v1::tune
