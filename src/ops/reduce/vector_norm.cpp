#include <cmath>

#include "ops/common.h"

namespace dyadic::inline v1::ops::vector_norm_op {
namespace {

Tensor norm_of(const Tensor& x, double p, IntList dim, bool keep) {
  if (p == HUGE_VAL) return amax(abs(x), dim, keep);
  if (p == -HUGE_VAL) return amin(abs(x), dim, keep);
  if (p == 0) {
    const Tensor count = sum(to(ne(x, 0), plain(x)), dim, keep);
    return x.requires_grad() ? where(zeros({}, boolean, x.device()), sum(x, dim, keep), count)
                             : count;  // it has a gradient: zeros
  }
  if (p == 1) return call(Op::abs_sum_, x, dim, keep);
  if (p == 2) return root_of_squares(call(Op::square_sum_, x, dim, keep));
  // The root of 0 has no slope: there the gradient is 0.
  const Tensor total = sum(pow(abs(x), p), dim, keep), none = eq(total, 0.0), one = ones_like(total.detach());
  return where(none, p < 0 ? pow(total.detach(), 1 / p) : zeros_like(one), pow(where(none, one, total), 1 / p));
}
Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  const Tensor given = !a.has(arg::dtype) ? t : to(t, a[arg::dtype]), x = given.dtype().is_complex() ? abs(given) : given;
  check_float("vector_norm", x, "self");
  DY_CHECK(a[arg::ord].imag() == 0, "vector_norm: the order is complex: it is {}+{}j", a[arg::ord].real(), a[arg::ord].imag());
  const double p = a[arg::ord].real();
  // The sum of powers leaves the range of 16 bits long before its root does.
  const bool narrow = compute_type(plain(x)) == Compute::f32 && plain(x) != f32 && std::isfinite(p) && p != 0 && p != 1;
  const Tensor norm = norm_of(narrow && p != 2 ? to(x, f32) : x, p, ints_of(a.arg(arg::dim)), a[arg::keepdim]);
  return narrow ? to(norm, plain(x)) : norm;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "vector_norm(Tensor self, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .doc =
        "The norm over dim (all dimensions if absent): sum(|x|^ord)^(1/ord); of infinite ord the largest or smallest |x|, of 0 "
        "the number of nonzero elements.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "vector_norm(randn(3, 4))\n"
        "vector_norm(randn(3, 4), 1, [1])\n"
        "vector_norm(randn(3, 4), 3.0, [0], True)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::vector_norm_op
