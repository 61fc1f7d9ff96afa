// A low-rank addition to one module.
#pragma once
#include "models/parts.h"

namespace dyadic::inline v1::models {

struct LoraShape {
  int64_t rank = 0;
  double scale = 1, dropout = 0;
  bool bias = false;       // of the second factor
  bool magnitude = false;  // DoRA: each output's weights have a length that is a parameter of its own
};

// Of a Linear or an Embedding. Its tensors are parameters of that module, under the names that PEFT's files
// have: lora_A.weight [rank, in], lora_B.weight [out, rank], lora_B.bias [out], lora_magnitude_vector [out]; of an embedding
// lora_embedding_A [rank, rows], lora_embedding_B [width, rank]. In float32, of float64 modules in float64.
class Lora : public nn::Hook {
 public:
  bool enabled = true;
  static bool fits(nn::Module& target);                                             // whether it is of a kind that can have one
  static std::shared_ptr<Lora> attach(nn::Module& target, const LoraShape& shape);  // ValueError where it is not
  void detach();
  // Tensors of the target's that are the adapter's, by their names in it.
  const std::vector<std::pair<std::string, Tensor*>>& tensors() const { return tensors_; }
  // Changes nothing at first.
  void initialize();
  Tensor merged_weight() const;  // the target's, with the addition
  Tensor merged_bias() const;    // undefined: as it was
  nn::Module& target() const { return target_; }
  bool is_embedding() const { return kind_ == Kind::embedding; }
  void after(nn::Module& m, const std::vector<Tensor>& inputs, std::vector<Tensor>& results) override;

 private:
  enum class Kind { linear, embedding };
  Lora(nn::Module& target, const LoraShape& shape, Kind kind);
  Tensor whole(DType dtype) const;  // weight + scale B A, [out, in]
  Tensor ratio() const;             // what outputs are multiplied by, [out]
  nn::Module& target_;
  LoraShape shape_;
  Kind kind_;
  Tensor* weight_;
  Tensor* bias_;  // null or undefined: there is none
  std::shared_ptr<nn::Linear> a_, b_;
  Tensor embedding_a_, embedding_b_, magnitude_;
  std::vector<std::pair<std::string, Tensor*>> tensors_;
};

// What a layer that is read and not called multiplies by, dense, in this dtype: its weight, with an adapter's addition.
Tensor weight_of(nn::Linear& layer, DType dtype);

}  // namespace dyadic::inline v1::models
