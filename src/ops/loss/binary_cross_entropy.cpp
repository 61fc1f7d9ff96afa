#include "ops/composite.h"
#include "ops/demand.h"
#include "tensor/batched.h"

namespace dyadic::inline v1::ops::binary_cross_entropy_op {
namespace {

// Outside of [0, 1] logarithms are of negative numbers; NaN is outside.
void check_probabilities(const Tensor& t, const char* name) {
  if (t.is_meta() || t.numel() == 0) return;
  NoGrad guard;
  const auto [least, most] = aminmax(every_entry(t));
  const Tensor ends[] = {least, most};
  demand("binary_cross_entropy", name, ends, [name](std::span<const Tensor> of) {
    const double low = of[0].item(), high = of[1].item();
    DY_CHECK(low >= 0 && high <= 1, "binary_cross_entropy: {} is no probability: its elements lie between {} and {}", name, low,
             high);
  });
}

Tensor compose(Args a) {
  DY_CHECK_AS(ValueError, a[arg::input].sizes() == a[arg::target].sizes(),
              "binary_cross_entropy: sizes differ: input is {}, target is {}", describe(a[arg::input]),
              describe(a[arg::target]));
  check_probabilities(a[arg::input], "input");
  check_probabilities(a[arg::target], "target");
  Tensor r = call(Op::binary_cross_entropy_terms_, a[arg::input], a[arg::target]);
  return reduced("binary_cross_entropy", a.has(arg::weight) ? mul(r, a[arg::weight]) : r, a[arg::reduction]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean') -> Tensor",
    .doc =
        "-(target log(input) + (1 - target) log(1 - input)), logarithms at least -100, times weight: probabilities against "
        "probabilities.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .low = 0.05,
    .high = 0.95,
    .samples =
        "binary_cross_entropy(rand(2, 3), rand(2, 3))\n"
        "binary_cross_entropy(rand(2, 3), rand(2, 3), rand(3), 'none')",
    .bad = "binary_cross_entropy(zeros(2), zeros(3)) => binary_cross_entropy: sizes differ: input is f32[2], target is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::binary_cross_entropy_op
