// What a model is judged by: batches that it was not trained on, and a loss for each of their items.
#pragma once
#include "base/parallel.h"
#include "dyadic/data.h"
#include "dyadic/nn.h"

namespace dyadic::inline v1::study {

class Judged {
 public:
  virtual ~Judged();
  // Batches are `size` times those of training where that can be chosen; false ends them.
  virtual void evaluation(int64_t size, FunctionRef<bool(const data::Value&)> each) = 0;
  // f32, one per item; items of one sample follow each other. logits: where the model gives such, [items, classes] in f32.
  virtual Tensor losses(nn::Module& model, const data::Value& batch, Tensor* logits) = 0;
  virtual Tensor metric(nn::Module& model, const data::Value& batch);  // f64, one per sample; undefined: there is none
  virtual bool all_stored() const { return false; }  // all matrices or none, and products read them in any format
  virtual int64_t window() const = 0;                // items of one sample; their losses are correlated
};

}  // namespace dyadic::inline v1::study
