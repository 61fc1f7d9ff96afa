#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops::linalg_matrix_power_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::A];
  int64_t n = a[arg::n];
  const bool whole = t.dtype().is_integer() && n >= 0;
  if (!whole) check_square("linalg.matrix_power", t, "A");
  DY_CHECK(t.dim() >= 2 && t.size(-1) == t.size(-2), "linalg.matrix_power: needs square matrices: A is {}", describe(t));
  if (n == 0) {
    const Tensor one = expand(eye_like(t, t.size(-1)), t.sizes()).clone();
    return whole ? one : where(zeros({}, boolean, t.device()), t, one);  // it has a gradient: zeros
  }
  Tensor square = whole ? t : widened(t), result;
  if (n < 0) square = call(Op::linalg_inv_, square);
  for (uint64_t left = n < 0 ? -uint64_t(n) : uint64_t(n);;) {
    if (left & 1) result = result.defined() ? matmul(result, square) : square;
    if (!(left >>= 1)) break;
    square = matmul(square, square);
  }
  return whole ? (result.is_same(t) ? t.clone() : result) : like(result, t);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_matrix_power(Tensor A, int n) -> Tensor",
    .doc = "The n-th power of square matrices by repeated squaring; of negative n the power of the inverse.",
    .kind = OpKind::composite,
    .amp = Amp::lower,
    .samples =
        "linalg_matrix_power(randn(3, 3), 3)\n"
        "linalg_matrix_power(randn(2, 2, 2), 6)\n"
        "linalg_matrix_power(spd(3, 3), -2)\n"
        "linalg_matrix_power(randn(3, 3), 1)",
    .bad = "linalg_matrix_power(zeros(2, 3), 2) => linalg.matrix_power: needs square matrices: A is f32[2, 3]",
    .skip = "layout_bits: the strides of its operands decide which kernel multiplies",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_matrix_power_op
