#include <atomic>

#include "corridor/batching.h"
#include "ops/random/counts.h"

namespace dyadic::inline v1::ops::poisson_op {
namespace {

// Of a small rate by inversion: how many of the probabilities e^-rate rate^k / k! from 0 on a uniform number is beyond. Beyond
// where they end in rounding there is nothing.
double draw_small(double uniform, double rate) {
  double k = 0;
  for (double p = std::exp(-rate); uniform >= p && p > 0x1p-60; p *= rate / k) uniform -= p, ++k;
  return k;
}
double draw_large(Uniforms u, double rate) {
  const double b = 0.931 + 2.53 * std::sqrt(rate), log_rate = std::log(rate);
  const Hat hat = {-0.059 + 0.02483 * b, b, rate + 0.43, 0.9277 - 3.6224 / (b - 2), 1.1239 + 1.1328 / (b - 3.4)};
  return by_rejection(u, hat, [&](double k) { return k * log_rate - rate - log_factorial(k); });
}

void infer(Call& c) {
  check_float("poisson", c[arg::self], "self");
  infer_like_first(c);
}
void run(const DrawnTiles<1>& p, const Pointers& at) {
  std::atomic<bool> refused = false;
  const Draw d = at.draw;
  draw_tiles(p, at, [&](int64_t first, int64_t count, const double(*rates)[kDrawTile], double* out) {
    double uniform[kDrawTile];
    random_kernel().uniform_f64(d.seed, d.stream, uint64_t(first), count, uniform);
    for (int64_t i = 0; i < count; ++i) {
      const double rate = rates[0][i];
      if (!(rate >= 0)) refused.store(true, std::memory_order_relaxed);
      if (!(rate >= 0) || std::isinf(rate))
        out[i] = std::nan("");
      else
        out[i] = rate < 10 ? draw_small(uniform[i], rate) : draw_large(Uniforms(d, first + i), rate);
    }
  });
  DY_CHECK(!refused, "poisson: a rate is negative or NaN: self is {}", describe(p.in[0]));
}
void plan(Call& c) { c.plan.set<run>(drawn_tiles<1>(c)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "poisson(Tensor self) -> Tensor",
    .doc = "Poisson numbers, each of the rate that self holds. No gradient.",
    .low = 0,
    .high = 40,
    .samples = "poisson(rand(2, 3))\npoisson(rand())\npoisson(rand(0))\npoisson(rand(700))",
    .bad = "poisson(indices(3; 2)) => poisson: needs a floating-point tensor: self is i64[2]; convert with .to(f32) first",
    .skip =
        "cost: drawing numbers counts as bytes\n"
        "gradcheck: a draw has no gradient\n"
        "double_backward: it has no first one",
    .infer = infer,
    .random = true,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::poisson_op
