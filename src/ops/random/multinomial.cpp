#include "ops/common.h"
#include "ops/demand.h"

namespace dyadic::inline v1::ops::multinomial_op {
namespace {

void check_weights(const Tensor& p, int64_t n, bool replacement) {
  DY_CHECK(p.dim() == 1 || p.dim() == 2, "multinomial: weights are one row or several: self is {}", describe(p));
  check_float("multinomial", p, "self");
  DY_CHECK(n > 0, "multinomial: num_samples is not positive: {}", n);
  DY_CHECK(replacement || n <= p.size(-1),
           "multinomial: num_samples is more than there are categories: {} of {}; or draw with replacement", n, p.size(-1));
  if (p.is_meta() || p.numel() == 0) return;
  demand_all("multinomial", logical_and(isfinite(p), ge(p, Scalar(0))),
             [&] { return fmt::format("multinomial: a weight is negative, infinite or NaN: self is {}", describe(p)); });
  demand_all("multinomial", gt(sum(p, {-1}), Scalar(0)),
             [&] { return fmt::format("multinomial: the weights of a row are all 0: self is {}", describe(p)); });
}

// Without replacement: the k that come first of exponential clocks with these rates (Efraimidis and Spirakis 2006).
Tensor compose(Args a) {
  const NoGrad guard;
  const Tensor p = to(a[arg::self], a[arg::self].dtype() == f64 ? f64 : f32);
  const int64_t n = a[arg::num_samples];
  check_weights(p, n, a[arg::replacement]);
  if (!a[arg::replacement]) {
    const Tensor clocks = div(neg(log1p(neg(rand(p.sizes(), f64, p.device())))), to(p, f64));
    return topk(clocks, n, -1, false).indices;
  }
  const Tensor until = cumsum(to(p, f64), -1);
  std::vector<int64_t> sizes = p.sizes().vec();
  sizes.back() = n;
  const Tensor u = mul(rand(sizes, f64, p.device()), narrow(until, -1, p.size(-1) - 1, 1));
  return clamp(searchsorted(until, u, true), Scalar(0), Scalar(p.size(-1) - 1));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "multinomial(Tensor self, int num_samples, bool replacement=False) -> Tensor",
    .doc =
        "num_samples places of each row of self, drawn with the probabilities that the row's entries are proportional to; "
        "without replacement no place comes twice. int64.",
    .kind = OpKind::composite,
    .low = 0.1,
    .samples =
        "multinomial(rand(4), 2)\n"
        "multinomial(rand(2, 4), 3)\n"
        "multinomial(rand(2, 4), 9, True)",
    .bad =
        "multinomial(rand(2), 3) => multinomial: num_samples is more than there are categories: 3 of 2; or draw with "
        "replacement\n"
        "multinomial(zeros(2), 1) => multinomial: the weights of a row are all 0: self is f32[2]\n"
        "multinomial(rand(2), 0) => multinomial: num_samples is not positive: 0\n"
        "multinomial(rand(), 1) => multinomial: weights are one row or several: self is f32[]",
    .skip =
        "cost: drawing numbers counts as bytes\n"
        "meta: weights are looked at\n"
        "gradcheck: a draw has no gradient\n"
        "double_backward: it has no first one",
    .compose = compose,
    .random = true,
};

}  // namespace dyadic::inline v1::ops::multinomial_op
