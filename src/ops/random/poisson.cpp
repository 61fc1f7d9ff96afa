#include "ops/random/counts.h"

namespace dyadic::inline v1::ops {
namespace {

double draw(Uniforms& u, double rate) {
  if (!(rate >= 0) || std::isinf(rate)) return std::nan("");
  if (rate < 10) {  // as many as exponential times fit (Knuth, The art of computer programming, 3.4.1)
    const double until = std::exp(-rate);
    double product = u.next(), k = 0;
    for (; product > until; ++k) product *= u.next();
    return k;
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), log_rate = std::log(rate);
  const Hat hat = {-0.059 + 0.02483 * b, b, rate + 0.43, 0.9277 - 3.6224 / (b - 2), 1.1239 + 1.1328 / (b - 3.4)};
  return by_rejection(u, hat, [&](double k) { return k * log_rate - rate - log_factorial(k); });
}

void infer(Call& c) {
  check_float("poisson", c.tensor(0), "self");
  infer_like_first(c);
}
void forward(Call& c) {
  draw_counts<1>(c, [](Uniforms& u, const double* rate) { return draw(u, *rate); });
}

}  // namespace

extern constexpr OpDef poisson_op = {
    .sig = "poisson(Tensor self) -> Tensor",
    .doc = "Poisson numbers, each of the rate that self holds; NaN of a negative one. No gradient.",
    .low = 0,
    .high = 40,
    .samples = "poisson(rand(2, 3))\npoisson(rand())\npoisson(rand(0))\npoisson(rand(700))",
    .bad = "poisson(indices(3; 2)) => poisson: needs a floating-point tensor: self is i64[2]; convert with .to(f32) first",
    .skip =
        "cost: drawing numbers counts as bytes\n"
        "gradcheck: a draw has no gradient\n"
        "double_backward: it has no first one",
    .infer = infer,
    .forward = forward,
    .random = true,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops
