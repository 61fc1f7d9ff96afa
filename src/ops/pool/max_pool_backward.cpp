#include "corridor/batching.h"
#include "ops/pool/max_pool_shape.h"

namespace dyadic::inline v1::ops::max_pool_backward_op {
namespace {

MaxPoolShape shape(const Call& c) {
  const Tensor& g = c[arg::grad];
  const auto rank = int64_t(c[arg::size].size());
  MaxPoolShape s = max_pool_shape(g, rank, c[arg::size].begin());
  for (int d = 0; d < 3; ++d) std::swap(s.in[d], s.out[d]);
  return s;
}
void infer(Call& c) {
  const Tensor &g = c[arg::grad], &places = c[arg::indices];
  const auto rank = int64_t(c[arg::size].size());
  check_float("max_pool_backward", g, "grad");
  DY_CHECK_AS(TypeError, places.dtype() == i64, "max_pool_backward: indices are int64: indices is {}", describe(places));
  DY_CHECK(g.sizes() == places.sizes() && rank >= 1 && rank <= 3 && g.dim() >= rank,
           "max_pool_backward: sizes do not fit: grad is {}, indices is {}, size is {}", describe(g), describe(places),
           shape_text(c[arg::size]));
  infer_like_first(c);
  for (int64_t d = 0; d < rank; ++d) c.spec[0].sizes[c.spec[0].ndim - rank + d] = c[arg::size][size_t(d)];
  checked_numel("max_pool_backward", c.spec[0].shape());
}
void run(const MaxPoolParameters& p, const Pointers& at) {
  const auto* place = static_cast<const int64_t*>(at.in[1]);
  const int64_t bad = max_pool_kernel().backward(p.shape, {at.in[0], p.y}, place, {at.out[0], p.x}, at.workspace);
  DY_CHECK_AS(IndexError, bad < 0, "max_pool_backward: index out of range: index {} at position {}; there are {} elements",
              place[bad], bad, p.shape.elements());
}
void plan(Call& c) {
  const MaxPoolParameters p{shape(c), result_format(c), format_of(c, arg::grad)};
  c.plan.workspace = max_pool_kernel().workspace(p.shape, {nullptr, p.y});
  c.plan.set<run>(p);
}
void backward(Grad& g) { g.set(arg::grad, call(Op::max_pool_take_, g.g(), g.in(arg::indices), int64_t(g[arg::size].size()))); }
double flops(const Call& c) { return double(c[arg::grad].numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "max_pool_backward(Tensor grad, Tensor indices, int[] size) -> Tensor",
    .doc =
        "Zeros whose last dimensions are `size`, with grad added at indices, which count them row-major: the gradient of "
        "max_pool, "
        "and max_unpool.",
    .internal = true,
    .samples =
        "max_pool_backward(randn(2, 3), indices(7; 2, 3), [7])\nmax_pool_backward(randn(2, 2, 3), indices(20; 2, 2, 3), "
        "[4, 5])",
    .bad =
        "max_pool_backward(zeros(1), indices(9; 1), [4]) => max_pool_backward: index out of range: index 8 at position 0; "
        "there "
        "are 4 elements",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::indices)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::max_pool_backward_op
