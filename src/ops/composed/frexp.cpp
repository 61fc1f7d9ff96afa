#include "ops/common.h"

namespace dyadic::inline v1::ops::frexp_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& x = a[arg::self];
  DY_CHECK(plain(x).is_floating_point(), "frexp: only floating-point dtypes: self is {}", describe(x));
  return {call(Op::frexp_mantissa_, x), to(call(Op::frexp_exponent_, x), i32)};
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    .doc = "self = mantissa 2^exponent with |mantissa| in [0.5, 1) and an int32 exponent; 0, infinities and NaN stay.",
    .kind = OpKind::composite,
    .samples = "frexp(rand(3, 4))\nfrexp(randn(5))",
    .bad = "frexp(indices(3; 2)) => frexp: only floating-point dtypes: self is i64[2]",
    .skip = "values: integers are refused",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::frexp_op
