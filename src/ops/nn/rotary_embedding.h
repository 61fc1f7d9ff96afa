// Where the rows of a rotary embedding lie, for all backends.
#pragma once
#include "ops/nn/rotary_embedding_kernel.h"
#include "tensor/operand.h"

namespace dyadic::inline v1::ops {

// Cosines and sines are broadcast over the dimensions of x before its last; neighbours of a last dimension lie together.
static_assert(kMaxDims <= RotaryRows::kMost);
inline RotaryRows rotary_rows(const Operand& x, const Operand& cosine, const Operand& sine) {
  RotaryRows r{.rows = 1, .width = x.size(-1), .pairs = cosine.size(-1), .ndim = x.ndim - 1};
  const auto step = [&](const Operand& o, int d) {
    const int back = x.ndim - d;  // from the end
    return o.ndim < back || o.size(-back) == 1 ? 0 : o.stride(-back);
  };
  for (int d = 0; d < r.ndim; ++d) {
    r.sizes[d] = x.lengths[d], r.rows *= x.lengths[d];
    r.x[d] = x.steps[d], r.cosine[d] = step(cosine, d), r.sine[d] = step(sine, d);
  }
  return r;
}

}  // namespace dyadic::inline v1::ops
