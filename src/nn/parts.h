// Tensors cut into equal parts whose gradients meet in one concatenation: a view per part would have a gradient of the whole
// size each.
#pragma once
#include "dyadic/autograd.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::nn {

template <int64_t kDim> struct Parts : Function<Parts<kDim>> {
  static constexpr const char* name = "Parts";
  static std::vector<Tensor> forward(FunctionContext&, const Tensor& x, int64_t n) {
    const int64_t size = x.size(kDim) / n;
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < n; ++i) parts.push_back(narrow(x, kDim, i * size, size));
    return parts;
  }
  static Tensor backward(FunctionContext&, std::span<const Tensor> gradients) {
    Tensor known;
    for (const Tensor& g : gradients)
      if (g.defined()) known = g;
    std::vector<Tensor> all;
    for (const Tensor& g : gradients) all.push_back(g.defined() ? g : zeros_like(known));
    return cat(all, kDim);
  }
};

// kDim is 0 or -1.
template <int64_t kDim> std::vector<Tensor> parts_of(const Tensor& x, int64_t n) { return Parts<kDim>::apply(x, n); }

}  // namespace dyadic::inline v1::nn
