// Several tensors of one dtype and rank, but not of one shape, as one batch.
#pragma once
#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

class NestedTensor {
  std::vector<Tensor> parts_;

 public:
  explicit NestedTensor(std::vector<Tensor> parts);  // at least one, of one dtype and rank
  const std::vector<Tensor>& unbind() const { return parts_; }
  DType dtype() const { return parts_.front().dtype(); }
  int64_t dim() const { return parts_.front().dim() + 1; }
  std::optional<int64_t> size(int64_t dim) const;  // nothing where the parts differ
  int64_t numel() const;
  // The parts one behind the other, [total, ...], and where each begins and the last one ends: of parts that differ in their
  // first dimension alone.
  Tensor values() const;
  Tensor offsets() const;
  // A tensor as large as the largest part in every dimension, or of output_size, with `padding` where a part is smaller.
  // Gradients reach the parts.
  Tensor to_padded_tensor(double padding, std::optional<IntList> output_size = {}) const;
  std::string str() const;  // as PyTorch prints it
};

// The parts of values [total, ...] that begin at offsets [parts + 1], each as long as the next one's beginning allows, or of
// `lengths`.
NestedTensor nested_tensor_from_jagged(const Tensor& values, const Tensor& offsets, const Tensor& lengths = {});

}  // namespace dyadic::inline v1
