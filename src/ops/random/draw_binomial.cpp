#include "corridor/batching.h"
#include "ops/random/counts.h"

namespace dyadic::inline v1::ops::draw_binomial_op {
namespace {

double draw(Uniforms& u, double n, double p) {
  if (!(n >= 0 && p >= 0 && p <= 1) || std::isinf(n)) return std::nan("");
  n = std::floor(n);
  if (p > 0.5) return n - draw(u, n, 1 - p);
  if (p == 0) return 0;
  if (n * p < 10) {  // trials until the next success are geometric (Devroye 1986, X.4)
    double trials = 0, k = -1;
    for (; trials <= n; ++k) trials += std::ceil(std::log(u.next()) / std::log1p(-p));
    return k;
  }
  const double spread = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * spread, odds = std::log(p / (1 - p));
  const double most = std::floor((n + 1) * p);
  auto log_chance = [&](double k) { return k * odds - log_factorial(k) - log_factorial(n - k); };
  const double highest = log_chance(most);
  const Hat hat = {-0.0873 + 0.0248 * b + 0.01 * p, b, n * p + 0.5, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread};
  return by_rejection(u, hat, [&](double k) { return k > n ? -HUGE_VAL : log_chance(k) - highest; });
}

void infer(Call& c) {
  const Tensor &count = c[arg::count], &prob = c[arg::prob];
  check_float(c.name, count, "count");
  DY_CHECK(count.sizes() == prob.sizes(), "{}: the sizes differ: {}, {}", c.name, describe(count), describe(prob));
  infer_like_first(c);
}
void run(const DrawnTiles<2>& p, const Pointers& at) {
  draw_tiles(p, at, [&](int64_t first, int64_t count, const double(*v)[kDrawTile], double* out) {
    for (int64_t i = 0; i < count; ++i) {
      Uniforms u(at.draw, first + i);
      out[i] = draw(u, v[0][i], v[1][i]);
    }
  });
}
void plan(Call& c) { c.plan.set<run>(drawn_tiles<2>(c)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "draw_binomial(Tensor count, Tensor prob) -> Tensor",
    .doc = "binomial of one shape, in the dtype of count.",
    .internal = true,
    .low = 0,
    .high = 1,
    .samples = "draw_binomial(rand(3), rand(3))",
    .skip =
        "cost: drawing numbers counts as bytes\n"
        "gradcheck: a draw has no gradient\n"
        "double_backward: it has no first one",
    .infer = infer,
    .random = true,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::draw_binomial_op
