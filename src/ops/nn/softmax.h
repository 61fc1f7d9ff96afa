// What softmax and log_softmax share.
#pragma once
#include "ops/along.h"
#include "ops/nn/softmax_kernel.h"

namespace dyadic::inline v1::ops {

// softmax of t along dim, or its logarithm. Long or narrow columns are turned into rows and back.
inline Tensor softmax_of(const char* who, const Tensor& t, int64_t dim, bool log) {
  constexpr int64_t kNarrow = 8;
  dim = wrap_dim(who, dim, t.dim());
  const AlongDim along(who, t.sizes(), dim);
  if (along.inner <= 1 || (along.inner >= kNarrow && along.n <= kSoftmaxColumns))
    return call(Op::softmax_along_, dense(t), dim, log);
  return call(Op::softmax_along_, dense(t.transpose(dim, -1)), int64_t(t.dim() - 1), log).transpose(dim, -1).contiguous();
}

}  // namespace dyadic::inline v1::ops
