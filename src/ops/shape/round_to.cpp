#include "ops/common.h"

namespace dyadic::inline v1::ops::round_to_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::self];
  check_float("round_to", x, "self");
  const std::string_view precision{a.arg(arg::precision).text, a.arg(arg::precision).n};
  if (precision == "tf32") return call(Op::round_tf32_, x);
  const DType d = DType::parse(precision);
  DY_CHECK_AS(ValueError, d.is_floating_point() || d.is_scaled(),
              "round_to: {} is not a float format; the known ones are tf32 and those that dyadic formats lists", d.name());
  return to(to(x, d), x.dtype().is_scaled() ? f32 : x.dtype());
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "round_to(Tensor self, str precision) -> Tensor",
    .doc =
        "The values as another format would hold them, in the dtype they have: precision is tf32 (f32's range, 10 bits of "
        "fraction) or the name of any float or scaled dtype. To nearest, ties to even.",
    .kind = OpKind::composite,
    .samples = "round_to(randn(3, 4), 'tf32')\nround_to(randn(3, 4), 'bf16')",
    .bad =
        "round_to(zeros(2), 'i8') => round_to: i8 is not a float format; the known ones are tf32 and those that dyadic formats "
        "lists",
    .skip =
        "cost: rounding counts as bytes\ngradcheck: a step function; the gradient goes straight through\n"
        "double_backward: so does the gradient's",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::round_to_op
