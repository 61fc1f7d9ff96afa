// beta self + alpha product: what addmm and its like share.
#pragma once
#include "ops/common.h"

namespace dyadic::inline v1::ops {

// With beta 0 self is not read: its NaN and infinities don't count. Integers are weighted by whole numbers: what is behind the
// point is cut off.
inline Tensor add_weighted(const Tensor& self, const Tensor& product, Scalar beta, Scalar alpha) {
  if (product.dtype().is_integer())
    for (Scalar* s : {&alpha, &beta})
      if (s->kind() == Scalar::Kind::real) *s = int64_t(s->real());
  const Tensor scaled = alpha.real() == 1 && alpha.imag() == 0 ? product : mul(product, alpha);
  if (beta.real() == 0 && beta.imag() == 0) return scaled;
  return add(beta.real() == 1 && beta.imag() == 0 ? self : mul(self, beta), scaled);
}

}  // namespace dyadic::inline v1::ops
