#include "corridor/batching.h"
#include "ops/nn/layer_norm_kernel.h"
#include "ops/norm/statistics.h"

namespace dyadic::inline v1::ops::native_layer_norm_op {
namespace {

LayerNormShape rows(const Call& c) {
  int64_t n = c[arg::normalized];
  return {n ? c[arg::input].numel() / n : 0, n, c[arg::centred]};
}

void infer(Call& c) {
  check_float("layer_norm", c[arg::input], "input");
  check_rows(c, c[arg::input], c[arg::normalized]);
  check_parameters(c, 0, c[arg::normalized], {2, 3});
  infer_like_first(c);
  add_statistics(c, rows(c).rows);
}
struct Parameters {
  LayerNormShape shape;
  double eps;
  const Format *x, *weight, *bias, *y;
};
void run(const Parameters& p, const Pointers& at) {
  layer_norm_kernel().forward(p.shape, source(at, 0, p.x), source(at, 1, p.weight), source(at, 2, p.bias), p.eps,
                              target(at, 0, p.y), at.out[1], at.out[2], at.workspace);
}
char* row_of(void* statistics, const Parameters& p, int64_t row) {
  return static_cast<char*>(statistics) + row * compute_size(p.x->compute());
}
void run_rows(const Parameters& p, const Pointers& at, int64_t begin, int64_t end) {
  const int64_t first = begin * p.shape.n;
  layer_norm_kernel().forward({end - begin, p.shape.n, p.shape.centred}, from(source(at, 0, p.x), first),
                              source(at, 1, p.weight), source(at, 2, p.bias), p.eps, from(target(at, 0, p.y), first),
                              row_of(at.out[1], p, begin), row_of(at.out[2], p, begin), nullptr);
}
void plan(Call& c) {
  const Parameters p{rows(c),         c[arg::eps], format_of(c, arg::input), format_of(c, arg::weight), format_of(c, arg::bias),
                     result_format(c)};
  c.plan.workspace = layer_norm_kernel().forward_workspace(p.shape, {nullptr, p.weight}, {nullptr, p.bias});
  c.plan.set<run>(p);
  if (!c.plan.workspace)
    c.plan.in_parts<run_rows, nullptr, Parameters>(p.shape.rows, p.shape.n, in(arg::input), p.x == p.y ? in(arg::input) : 0);
}

// Tensors count on their own, here and in plans: the second argument is a number.
constexpr int kWeight = 1, kBias = 2;
constexpr uint16_t kAll = in(0) | in(kWeight) | out(1) | out(2);

// In ops, for gradients of gradients.
void backward_in_ops(Grad& g) {
  int64_t n = g[arg::normalized], r = n ? g.g().numel() / n : 0;
  Tensor x = g.in(arg::input).reshape({r, n}), dy = g.g().reshape({r, n});
  const bool centred = g[arg::centred];
  Tensor d = centred ? sub(x, mean(x, {1}, true)) : x;
  Tensor rstd = rsqrt(add(mean(square(d), {1}, true), g[arg::eps])), hat = mul(d, rstd);
  if (g.needs(arg::input)) {
    Tensor w = g.has(arg::weight) ? mul(dy, g.in(kWeight).reshape({n})) : dy;
    Tensor dx = sub(w, mul(hat, mean(mul(w, hat), {1}, true)));
    dx = mul(rstd, centred ? sub(dx, mean(w, {1}, true)) : dx);
    g.set(arg::input, dx.reshape(g.in_meta(arg::input).shape()));
  }
  if (g.needs(kWeight)) g.set(kWeight, sum(mul(dy, hat), {0}).reshape(g.in_meta(kWeight).shape()));
  if (g.needs(kBias)) g.set(kBias, sum(dy, {0}).reshape(g.in_meta(kBias).shape()));
}
void backward(Grad& g) {
  if (GradMode::enabled()) return backward_in_ops(g);
  Tensor dy = g.g().contiguous(), x = g.in(arg::input), weight = g.has(arg::weight) ? g.in(kWeight) : Tensor(), mean = g.out(1),
         rstd = g.out(2);
  Arg args[] = {dy, x, weight, mean, rstd, g[arg::normalized], g.needs(kBias), g[arg::centred]};
  Tensor out[3];
  call_op(Op::native_layer_norm_backward_, args, 8, out);
  g.set(arg::input, out[0]);
  if (g.needs(kWeight)) g.set(kWeight, out[1]);
  if (g.needs(kBias)) g.set(kBias, out[2]);
}
double flops(const Call& c) { return 8.0 * double(c[arg::input].numel()); }

// Weights of their own are applied to normalized rows.
bool batched(BatchedCall& b) {
  const Call& c = b.c;
  const bool weight = c.has(arg::weight), bias = c.has(arg::bias);
  if (!(weight && b.is_batched(arg::weight)) && !(bias && b.is_batched(arg::bias))) return b.leading(in(kWeight) | in(kBias));
  const int64_t n = c[arg::normalized], m = n ? c[arg::input].numel() / n : 0;
  const Tensor x = b.whole(arg::input), none;
  Arg args[] = {x, n, none, none, c[arg::eps], c[arg::centred]};
  Tensor out[3];
  call_op(Op::native_layer_norm_, args, 6, out);
  const auto each = [&](AnyArg h) { return b.whole(h).reshape({b.entries, 1, n}).to(c.spec[1].dtype); };
  Tensor y = out[0].reshape({b.entries, m, n}).to(c.spec[1].dtype);
  if (weight) y = mul(y, each(arg::weight));
  if (bias) y = add(y, each(arg::bias));
  b.results[0] = y, b.results[1] = out[1], b.results[2] = out[2];
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "native_layer_norm(Tensor input, int normalized, Tensor? weight, Tensor? bias, float eps, bool centred=True) -> "
        "(Tensor, Tensor, Tensor)",
    .doc =
        "layer_norm over the last `normalized` elements of a contiguous input, with the mean and 1 / sqrt(variance + eps) of "
        "each row; not centred, rms_norm, whose mean counts as 0.",
    .internal = true,
    .samples =
        "native_layer_norm(randn(3, 8), 8, randn(8), randn(8), 1e-05)\n"
        "native_layer_norm(randn(3, 8), 8, None, None, 1e-05)\n"
        "native_layer_norm(randn(3, 8), 8, randn(8), None, 1e-05, False)",
    .skip = "second_output: mean and rstd are not differentiated",
    .infer = infer,
    .backward = backward,
    .needs = {kAll, kAll, kAll},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::native_layer_norm_op
