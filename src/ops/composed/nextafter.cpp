#include "dyadic/planes.h"
#include "ops/composite.h"

namespace dyadic::inline v1::ops::nextafter_op {
namespace {

Tensor next_of(const Tensor& x0, const Tensor& y0) {
  const NoGrad guard;
  const DType d = promote_types(plain(x0), plain(y0));
  DY_CHECK_AS(TypeError, d.is_floating_point() && !d.is_blocked(),
              "nextafter: only floating-point dtypes: self is {}, other is {}", describe(x0), describe(y0));
  const Tensor x = to(x0, d), y = to(y0, d);
  const DType codes = d.itemsize() == 8 ? i64 : d.itemsize() == 4 ? i32 : d.itemsize() == 2 ? i16 : i8;
  const int64_t low = INT64_MIN >> (64 - 8 * d.itemsize());
  const int64_t top = d.itemsize() == 1 ? 127 : view_as(full({}, HUGE_VAL, d), codes).item<int64_t>();
  const Tensor next = view_as(call(Op::next_code_, view_as(x, codes), view_as(y, codes), Scalar(top), Scalar(low)), d);
  if (d.itemsize() > 1) return next;
  // Where NaN lies among the codes depends on the format; it may have the code of -0, which is then behind the smallest
  // numbers.
  const Tensor zero = full({}, 0, d, x.device());
  return where(logical_or(isnan(x), isnan(y)), add(x, y), where(isnan(next), zero, next));
}
// Values whose gradient for x is their own.
Tensor passed_on(const Tensor& value, const Tensor& x) {
  if (!GradMode::enabled() || !x.requires_grad()) return value;
  Tensor y = to(x, value.dtype()).expand(value.sizes()).clone();
  const NoGrad guard;
  return y.copy_(value);
}
Tensor compose(Args a) { return constant_in(passed_on(next_of(a[arg::self], a[arg::other]), a[arg::self]), a[arg::other]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "nextafter(Tensor self, Tensor other) -> Tensor",
    .doc = "The next value of the dtype behind self in the direction of other. Its gradient is that of self.",
    .kind = OpKind::composite,
    .samples = "nextafter(randn(3), randn(3))\nnextafter(randn(2, 1), randn(3))\nnextafter(zeros(2), randn(2))",
    .bad = "nextafter(indices(3; 2), indices(3; 2)) => nextafter: only floating-point dtypes: self is i64[2], other is i64[2]",
    .skip =
        "values: the next value is that of the dtype\n"
        "narrow: the next value is that of the dtype\n"
        "gradcheck: it is a step function\n"
        "double_backward: its gradient is constant\n"
        "cost: it works on codes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::nextafter_op
