#include "corridor/batching.h"
#include "ops/nn/layer_norm_kernel.h"
#include "ops/norm/statistics.h"

namespace dyadic::inline v1::ops::native_layer_norm_backward_op {
namespace {

LayerNormShape rows(const Call& c) {
  int64_t n = c[arg::normalized];
  return {n ? c[arg::input].numel() / n : 0, n, c[arg::centred]};
}
void infer(Call& c) {
  check_float(c.name, c[arg::input], "input");
  check_rows(c, c[arg::input], c[arg::normalized]);
  infer_gradients(c, c[arg::normalized], rows(c).rows);
}
struct Parameters {
  LayerNormShape shape;
  const Format *dy, *x, *weight, *dx, *dweight, *dbias;
};
void run(const Parameters& p, const Pointers& at) {
  layer_norm_kernel().backward(p.shape, source(at, 0, p.dy), source(at, 1, p.x), source(at, 2, p.weight), at.in[3], at.in[4],
                               target(at, 0, p.dx), target(at, 1, p.dweight), target(at, 2, p.dbias), at.workspace);
}
void plan(Call& c) {
  const Parameters p{rows(c),          format_of(c, arg::grad), format_of(c, arg::input), format_of(c, arg::weight),
                     result_format(c), result_format(c, 1),     result_format(c, 2)};
  c.plan.workspace = layer_norm_kernel().backward_workspace(p.shape, {nullptr, p.x}, {nullptr, p.weight});
  c.plan.set<run>(p);
}
double flops(const Call& c) { return 14.0 * double(c[arg::grad].numel()); }

// Sums over the rows of each entry; the kernel has only one sum.
bool batched(BatchedCall& b) {
  const Call& c = b.c;
  const int64_t n = c[arg::normalized], m = n ? c[arg::input].numel() / n : 0;
  const DType wide = c.spec[0].dtype == f64 ? f64 : f32;
  const bool weight = c.has(arg::weight);
  const auto each = [&](const Tensor& t, int64_t rows, int64_t columns) {
    return t.reshape({b.entries, rows, columns}).to(wide);
  };
  const Tensor x = each(b.whole(arg::input), m, n), g = each(b.whole(arg::grad), m, n), rstd = each(b.whole(4), m, 1);
  const bool centred = c[arg::centred];
  const Tensor hat = mul(centred ? sub(x, each(b.whole(3), m, 1)) : x, rstd);
  const Tensor w = weight ? mul(g, each(b.whole(2), 1, n)) : g;
  Tensor dx = sub(w, mul(hat, mean(mul(w, hat), {2}, true)));
  if (centred) dx = sub(dx, mean(w, {2}, true));
  b.results[0] = mul(rstd, dx);
  if (c.spec[1].dtype) b.results[1] = sum(mul(g, hat), {1});
  if (c.spec[2].dtype) b.results[2] = sum(g, {1});
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "native_layer_norm_backward(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor rstd, int normalized, bool "
        "with_bias, bool centred=True) -> (Tensor, Tensor, Tensor)",
    .doc =
        "The gradients of native_layer_norm for input, weight and bias, in one pass; the rows of the latter two are added in a "
        "fixed order.",
    .internal = true,
    .samples = "native_layer_norm_backward(randn(3, 8), randn(3, 8), randn(8), randn(3; wide), rand(3; wide), 8, True)",
    .infer = infer,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::native_layer_norm_backward_op
