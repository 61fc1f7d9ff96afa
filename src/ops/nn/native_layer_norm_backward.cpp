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

}  // namespace dyadic::inline v1::ops::native_layer_norm_backward_op
