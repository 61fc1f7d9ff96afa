// What softmax and log_softmax share.
#pragma once
#include "ops/common.h"
#include "ops/nn/softmax_kernel.h"

namespace dyadic::inline v1::ops {

// A tensor's sizes before, of and after a dimension.
struct AlongDim {
  int64_t outer = 1, n, inner = 1;
  AlongDim(const char* who, const Tensor& t, int64_t dim) {
    dim = wrap_dim(who, dim, t.dim());
    DY_CHECK(t.dim() > 0, "{}: a 0-d tensor has no dimension to go along", who);
    n = t.size(dim);
    for (int64_t d = 0; d < t.dim(); ++d)
      if (d != dim) (d < dim ? outer : inner) *= t.size(d);
  }
};

// softmax of t along dim, or its logarithm. Long or narrow columns are turned into rows and back.
inline Tensor softmax_of(const char* who, const Tensor& t, int64_t dim, bool log) {
  constexpr int64_t kNarrow = 8;
  dim = wrap_dim(who, dim, t.dim());
  if (t.dim() == 0) return call(Op::softmax_along_, t.view({1}), int64_t(0), log).view({});
  const AlongDim along(who, t, dim);
  if (along.inner <= 1 || (along.inner >= kNarrow && along.n <= kSoftmaxColumns))
    return call(Op::softmax_along_, dense(t), dim, log);
  return call(Op::softmax_along_, dense(t.transpose(dim, -1)), int64_t(t.dim() - 1), log).transpose(dim, -1).contiguous();
}

}  // namespace dyadic::inline v1::ops
