#include "models/rotation.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "dyadic/ops.h"

namespace dyadic::inline v1::models {
namespace {

// f64 [n, n], n a power of two: entry (i, j) is -1 to the number of bits that i and j share.
Tensor sylvester(int64_t n) {
  Tensor h = empty({n, n}, f64);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) h.data<double>()[i * n + j] = std::popcount(uint64_t(i & j)) % 2 ? -1 : 1;
  return h / std::sqrt(double(n));
}

}  // namespace

Tensor rotated(const Tensor& x) {
  const int64_t n = x.size(-1), power = n & -n;
  if (power <= 1) return x;
  // H of a b is H of a around H of b: two small products in place of a large one.
  const int64_t b = int64_t(1) << (std::countr_zero(uint64_t(power)) + 1) / 2, a = power / b;
  const DType wide = x.dtype() == f64 ? f64 : f32;
  Tensor y = x.to(wide).reshape({-1, a, b});
  y = matmul(y, sylvester(b).to(x.device()).to(wide));
  if (a > 1) y = matmul(sylvester(a).to(x.device()).to(wide), y);
  return y.reshape(x.sizes()).to(x.dtype());
}

}  // namespace dyadic::inline v1::models
