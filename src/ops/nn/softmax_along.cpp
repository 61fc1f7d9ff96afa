#include "ops/nn/softmax.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::softmax_along_op {
namespace {

void infer(Call& c) {
  const Tensor& x = c[arg::self];
  check_float(c[arg::log] ? "log_softmax" : "softmax", x, "self");
  infer_like_first(c);
  const AlongDim along(c.name, x.sizes(), c[arg::dim]);
  DY_CHECK(along.inner <= 1 || along.n <= kSoftmaxColumns, "{}: at most {} entries but along the last dimension: self is {}",
           c.name, kSoftmaxColumns, describe(x));
}
struct Parameters {
  const Format *x, *y;
  int64_t outer, n, inner;
  bool log;
};
void run(const Parameters& p, const Pointers& at) {
  softmax_kernel().forward({at.in[0], p.x}, {at.out[0], p.y}, p.outer, p.n, p.inner, p.log);
}
void plan(Call& c) {
  const AlongDim along(c.name, c[arg::self].sizes(), c[arg::dim]);
  c.plan.set<run>(Parameters{format_of(c, arg::self), result_format(c), along.outer, along.n, along.inner, c[arg::log]});
}
void backward(Grad& g) {
  Tensor y = g.out();
  const int64_t dim = g[arg::dim];
  if (!GradMode::enabled()) {
    g.set(arg::self, call(Op::softmax_along_backward_, g.g().contiguous(), y, dim, g[arg::log]));
  } else if (g[arg::log]) {
    g.set(arg::self, sub(g.g(), mul(exp(y), sum(g.g(), {dim}, true))));
  } else {
    g.set(arg::self, mul(y, sub(g.g(), sum(mul(g.g(), y), {dim}, true))));
  }
}
double flops(const Call& c) { return 13.0 * double(c[arg::self].numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "softmax_along(Tensor self, int dim, bool log) -> Tensor",
    .doc = "softmax (or its logarithm) along a dimension of a contiguous tensor.",
    .amp = Amp::f32,
    .internal = true,
    .samples =
        "softmax_along(randn(3, 5), 1, False)\nsoftmax_along(randn(3, 5), 1, True)\nsoftmax_along(randn(2, 3, 9), 1, False)\n"
        "softmax_along(randn(2, 3, 9), 1, True)\nsoftmax_along(randn(40, 21), 0, False)",
    .infer = infer,
    .backward = backward,
    .needs = {out(0)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::softmax_along_op
