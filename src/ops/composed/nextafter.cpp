#include "dyadic/planes.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

// The codes of floats of one sign are in the order of their values: the next value is the next code.
Tensor compose(const Arg* a) {
  const NoGrad guard;
  const Tensor &x0 = *a[0].tensor, &y0 = *a[1].tensor;
  const DType d = promote_types(plain(x0), plain(y0));
  DY_CHECK_AS(TypeError, d.is_floating_point() && !d.is_blocked(),
              "nextafter: only floating-point dtypes: self is {}, other is {}", describe(x0), describe(y0));
  const std::vector<Tensor> both = broadcast_tensors(std::vector<Tensor>{to(x0, d), to(y0, d)});
  const Tensor x = both[0].contiguous(), &y = both[1];
  const DType codes = d.itemsize() == 8 ? i64 : d.itemsize() == 4 ? i32 : d.itemsize() == 2 ? i16 : i8;
  const Tensor zero = full_like(x, 0), outward = eq(gt(y, x), gt(x, zero));
  const Tensor bits = view_as(x, codes);
  const Tensor moved = view_as(where(outward, add(bits, Scalar(1)), sub(bits, Scalar(1))), d);
  const Tensor smallest = view_as(full(x.sizes(), 1, codes, x.device()), d);
  const Tensor next = where(eq(x, zero), copysign(smallest, y), moved);
  return where(eq(x, y), y, where(logical_or(isnan(x), isnan(y)), add(x, y), next));
}

}  // namespace

extern constexpr OpDef nextafter_op = {
    .sig = "nextafter(Tensor self, Tensor other) -> Tensor",
    .doc = "The next value of the dtype behind self in the direction of other. No gradient.",
    .kind = OpKind::composite,
    .samples = "nextafter(randn(3), randn(3))\nnextafter(randn(2, 1), randn(3))\nnextafter(zeros(2), randn(2))",
    .bad = "nextafter(indices(3; 2), indices(3; 2)) => nextafter: only floating-point dtypes: self is i64[2], other is i64[2]",
    .skip =
        "values: the next value is that of the dtype\n"
        "narrow: the next value is that of the dtype\n"
        "gradcheck: no gradient\n"
        "double_backward: no gradient\n"
        "cost: it works on codes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
