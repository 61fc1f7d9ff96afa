#include <cmath>

#include "ops/random/masks.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor kept(const Tensor& x, double p, int64_t dims) {
  std::vector<int64_t> shape = x.sizes().vec();
  for (int64_t d = dims; d < x.dim(); ++d) shape[size_t(d)] = 1;
  return ge(rand(shape, f32, x.device()), p);
}

}  // namespace

Tensor zeroed(const Tensor& x) {
  return x.dtype().is_integer() || x.dtype() == boolean ? mul(x, zeros({}, x.dtype(), x.device())) : mul(x, scalar_tensor(0.0));
}

Tensor masked_channels(const char* who, const Tensor& x, double p, int64_t dims) {
  if (p == 0) return x;
  if (p == 1) return zeroed(x);
  check_float(who, x, "input");
  return mul(x, mul(kept(x, p, dims).to(plain(x)), 1 / (1 - p)));
}

Tensor channel_dropout(const char* who, int64_t rank, Args a) {
  namespace arg = dropout2d_op::arg;
  const Tensor& x = a[arg::input];
  const double p = a[arg::p];
  DY_CHECK_AS(ValueError, p >= 0 && p <= 1, "{}: p is not a probability: p is {}", who, p);
  const bool flat = rank > 1 && x.dim() == 2;  // [N, C], as PyTorch takes it
  DY_CHECK(flat || x.dim() == rank + 1 || x.dim() == rank + 2, "{}: the input has {} or {} dimensions: input is {}", who,
           rank + 1, rank + 2, describe(x));
  return a[arg::training] ? masked_channels(who, x, p, flat ? 2 : x.dim() - rank) : x;
}

Tensor alpha_masked(const char* who, const Tensor& x, double p, int64_t dims) {
  constexpr double kLimit = -1.7580993408473766;  // -scale alpha of SELU
  if (p == 0) return x;
  if (p == 1) return zeroed(x);
  check_float(who, x, "input");
  const double a = 1 / std::sqrt((1 - p) * (1 + p * kLimit * kLimit)), b = -a * kLimit * p;
  return add(mul(where(kept(x, p, dims), x, scalar_tensor(kLimit)), a), b);
}

}  // namespace dyadic::inline v1::ops
