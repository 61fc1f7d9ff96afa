#include <cmath>

#include "ops/complex_math.h"
#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::logsumexp_float_op {
namespace {

void infer(Call& c) {
  check_float("logsumexp", c[arg::self], "self");
  infer_reduction(c, 2, plain(c[arg::self]));
}
// The softmax over the reduced dimensions, which is as exact in narrow types as in wide ones: exp(x - out) is not.
void backward(Grad& g) {
  const Meta& m = g.in_meta(arg::self);
  const Arg& dim = g.arg(arg::dim);
  const uint32_t mask = reduced_dims("logsumexp", m.shape(), dim);
  std::vector<int64_t> order, sizes, back(size_t(m.ndim));
  for (int64_t d = 0; d < m.ndim; ++d)
    if (!(mask >> d & 1)) order.push_back(d), sizes.push_back(m.sizes[d]);
  for (int64_t d = 0; d < m.ndim; ++d)
    if (mask >> d & 1) order.push_back(d);
  sizes.push_back(reduced_count(m, dim));
  const Tensor rows = g.in(arg::self).permute(order);
  for (size_t d = 0; d < order.size(); ++d) back[size_t(order[d])] = int64_t(d);
  const Tensor share = softmax(rows.reshape(sizes), -1).view(rows.sizes()).permute(back);
  g.set(arg::self, mul(keep_dims(g.g(), m, dim), share));
}
double flops(const Call& c) { return 12.0 * double(c[arg::self].numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "logsumexp_float(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc = "logsumexp of a floating-point tensor, in one pass.",
    .amp = Amp::f32,
    .internal = true,
    .samples =
        "logsumexp_float(randn(3, 4), [1])\n"
        "logsumexp_float(randn(3, 4, 2), [0, 2], True)",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::self)},
    .flops = flops,
    .complex = complex_logsumexp,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::logsumexp>};

}  // namespace dyadic::inline v1::ops::logsumexp_float_op
