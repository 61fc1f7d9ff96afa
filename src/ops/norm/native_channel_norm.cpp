#include "corridor/batching.h"
#include "ops/norm/channel_norm_kernel.h"
#include "ops/norm/statistics.h"

namespace dyadic::inline v1::ops::native_channel_norm_op {
namespace {

ChannelNormShape shape_of(const Call& c) {
  const Tensor& x = c[arg::input];
  return {x.size(0), x.size(1), x.size(2), c[arg::groups]};
}

void infer(Call& c) {
  const Tensor& x = c[arg::input];
  check_float(c.name, x, "input");
  DY_CHECK(x.dim() == 3, "{}: the input is [batch, channels, inner]: input is {}", c.name, describe(x));
  infer_like_first(c);
  const ChannelNormShape s = shape_of(c);
  DY_CHECK(s.groups >= 0 && (s.groups == 0 || s.channels % s.groups == 0),
           "{}: the groups do not divide the channels: input "
           "is {}, groups is {}",
           c.name, describe(x), s.groups);
  check_parameters(c, 0, s.channels, {1, 2});
  add_statistics(c, s.classes());
}
struct Parameters {
  ChannelNormShape shape;
  double eps;
  const Format *x, *weight, *bias, *y;
};
void run(const Parameters& p, const Pointers& at) {
  channel_norm_kernel().forward(p.shape, source(at, 0, p.x), source(at, 1, p.weight), source(at, 2, p.bias), p.eps,
                                target(at, 0, p.y), at.out[1], at.out[2], at.workspace);
}
void plan(Call& c) {
  const Parameters p{shape_of(c),     c[arg::eps], format_of(c, arg::input), format_of(c, arg::weight), format_of(c, arg::bias),
                     result_format(c)};
  c.plan.workspace = channel_norm_kernel().forward_workspace(p.shape, {nullptr, p.x});
  c.plan.set<run>(p);
}

constexpr int kWeight = 1, kBias = 2;
constexpr uint16_t kAll = in(0) | in(kWeight) | out(1) | out(2);

// In ops, for gradients of gradients. Statistics are over dimensions `over` of a view [batch, groups, channels of one, inner].
void backward_in_ops(Grad& g) {
  const Meta& m = g.in_meta(arg::input);
  const int64_t groups = g[arg::groups], parts = groups ? groups : m.sizes[1];
  const int64_t seen[] = {m.sizes[0], parts, m.sizes[1] / std::max<int64_t>(parts, 1), m.sizes[2]},
                channels[] = {1, parts, seen[2], 1};
  const std::vector<int64_t> over = groups ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{0, 3};
  const Tensor x = g.in(arg::input).reshape(seen), dy = g.g().reshape(seen);
  const Tensor d = sub(x, mean(x, over, true)), rstd = rsqrt(add(mean(square(d), over, true), g[arg::eps])), hat = mul(d, rstd);
  if (g.needs(arg::input)) {
    const Tensor w = g.has(arg::weight) ? mul(dy, g.in(kWeight).reshape(channels)) : dy;
    const Tensor dx = mul(rstd, sub(sub(w, mean(w, over, true)), mul(hat, mean(mul(w, hat), over, true))));
    g.set(arg::input, dx.reshape(m.shape()));
  }
  if (g.needs(kWeight)) g.set(kWeight, sum(mul(dy, hat), {0, 3}).reshape(g.in_meta(kWeight).shape()));
  if (g.needs(kBias)) g.set(kBias, sum(dy, {0, 3}).reshape(g.in_meta(kBias).shape()));
}
void backward(Grad& g) {
  if (GradMode::enabled()) return backward_in_ops(g);
  const Tensor dy = g.g().contiguous(), weight = g.has(arg::weight) ? g.in(kWeight) : Tensor(), mean = g.out(1),
               rstd = g.out(2);
  Arg args[] = {dy, g.in(arg::input), weight, mean, rstd, g[arg::groups], g.needs(kBias)};
  Tensor out[3];
  call_op(Op::native_channel_norm_backward_, args, 7, out);
  g.set(arg::input, out[0]);
  if (g.needs(kWeight)) g.set(kWeight, out[1]);
  if (g.needs(kBias)) g.set(kBias, out[2]);
}
double flops(const Call& c) { return 8.0 * double(c[arg::input].numel()); }

// A call of many has more channels, in as many more groups.
bool batched(BatchedCall& b) {
  const Call& c = b.c;
  const int64_t groups = c[arg::groups], entries = b.entries;
  const bool weight = c.has(arg::weight), bias = c.has(arg::bias);
  if (groups && !(weight && b.is_batched(kWeight)) && !(bias && b.is_batched(kBias))) return b.first(in(kWeight) | in(kBias));
  const Tensor x = b.whole(arg::input).transpose(0, 1).flatten(1, 2);
  const Tensor w = weight ? b.whole(kWeight).reshape({-1}) : Tensor(), o = bias ? b.whole(kBias).reshape({-1}) : Tensor();
  Arg args[] = {x, w, o, groups * entries, c[arg::eps]};
  Tensor out[3];
  call_op(Op::native_channel_norm_, args, 5, out);
  b.results[0] = out[0].reshape({x.size(0), entries, c[arg::input].size(1), x.size(2)}).transpose(0, 1);
  for (int k : {1, 2}) b.results[k] = groups ? out[k].reshape({x.size(0), entries, groups}).transpose(0, 1) : out[k];
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "native_channel_norm(Tensor input, Tensor? weight, Tensor? bias, int groups, float eps) -> (Tensor, Tensor, Tensor)",
    .doc =
        "(x - mean) / sqrt(variance + eps) weight + bias of [batch, channels, inner], weight and bias per channel, with the "
        "statistics of each channel over the batch (groups 0: batch_norm) or of each of `groups` groups of a sample's channels "
        "(group_norm); and the mean and 1 / sqrt(variance + eps) of each.",
    .internal = true,
    .samples =
        "native_channel_norm(randn(2, 4, 3), randn(4), randn(4), 0, 1e-05)\n"
        "native_channel_norm(randn(2, 4, 3), randn(4), None, 2, 1e-05)\n"
        "native_channel_norm(randn(3, 2, 5), None, None, 0, 0.01)\n"
        "native_channel_norm(randn(2, 3, 4), None, None, 3, 0.01)",
    .bad =
        "native_channel_norm(zeros(2, 3, 1), None, None, 2, 0.1) => native_channel_norm: the groups do not divide the "
        "channels: input is f32[2, 3, 1], groups is 2",
    .skip = "second_output: mean and rstd are not differentiated",
    .infer = infer,
    .backward = backward,
    .needs = {kAll, kAll, kAll},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::native_channel_norm_op
