#include "corridor/batching.h"
#include "ops/matmul/distance_kernel.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::euclidean_distances_op {
namespace {

DistanceShape shape_of(const Call& c) {
  const Tensor &x = c[arg::x1], &y = c[arg::x2];
  return {x.size(0), x.size(1), y.size(1), x.size(2)};
}
void infer(Call& c) {
  const Tensor &x = c[arg::x1], &y = c[arg::x2];
  DY_CHECK(x.dim() == 3 && y.dim() == 3 && x.size(0) == y.size(0) && x.size(2) == y.size(2),
           "euclidean_distances: needs [b, n, d] and [b, m, d]: x1 is {}, x2 is {}", describe(x), describe(y));
  check_float("euclidean_distances", x, "x1");
  DY_CHECK_AS(TypeError, plain(x) == plain(y), "euclidean_distances: dtypes differ: x1 is {}, x2 is {}; convert one with .to",
              describe(x), describe(y));
  infer_like_first(c);
  const DistanceShape s = shape_of(c);
  const int64_t sizes[] = {s.batch, s.n, s.m};
  c.spec[0].shape(sizes);
}
struct Parameters {
  DistanceShape shape;
  const Format *x, *y, *out;
};
void run(const Parameters& p, const Pointers& at) {
  distance_kernel().run(p.shape, {at.in[0], p.x}, {at.in[1], p.y}, {at.out[0], p.out}, at.workspace);
}
void plan(Call& c) {
  const Parameters p{shape_of(c), format_of(c, arg::x1), format_of(c, arg::x2), result_format(c)};
  c.plan.workspace = distance_kernel().workspace(p.shape, {nullptr, p.x});
  c.plan.set<run>(p);
}
// A distance of 0 has no slope: there the gradient is 0.
void backward(Grad& g) {
  const Tensor apart = sub(unsqueeze(g.in(arg::x1), 2), unsqueeze(g.in(arg::x2), 1));
  const Tensor distance = g.out(0), none = eq(distance.detach(), 0);
  const Tensor each =
      mul(unsqueeze(where(none, scalar_tensor(0), div(g.g(), where(none, scalar_tensor(1), distance))), -1), apart);
  if (g.needs(arg::x1)) g.set(arg::x1, sum(each, {2}));
  if (g.needs(arg::x2)) g.set(arg::x2, neg(sum(each, {1})));
}
double flops(const Call& c) {
  const DistanceShape s = shape_of(c);
  return 3.0 * double(s.batch) * double(s.n) * double(s.m) * double(s.d);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "euclidean_distances(Tensor x1, Tensor x2) -> Tensor",
    .doc = "The 2-norms of the differences between the rows of x1 [b, n, d] and those of x2 [b, m, d]: [b, n, m].",
    .amp = Amp::f32,
    .internal = true,
    .samples =
        "euclidean_distances(randn(2, 5, 3), randn(2, 4, 3))\n"
        "euclidean_distances(randn(1, 3, 300), randn(1, 40, 300))\n"
        "euclidean_distances(randn(1, 3, 0), randn(1, 2, 0))",
    .bad =
        "euclidean_distances(zeros(1, 2, 3), zeros(1, 2, 2)) => euclidean_distances: needs [b, n, d] and [b, m, d]: x1 is "
        "f32[1, 2, 3], x2 is f32[1, 2, 2]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::x1) | in(arg::x2) | out(0), in(arg::x1) | in(arg::x2) | out(0)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kFirst();

}  // namespace dyadic::inline v1::ops::euclidean_distances_op
