#include "corridor/batching.h"
#include "ops/norm/channel_norm_kernel.h"
#include "ops/norm/statistics.h"

namespace dyadic::inline v1::ops::native_channel_norm_backward_op {
namespace {

ChannelNormShape shape_of(const Call& c) {
  const Tensor& x = c[arg::input];
  return {x.size(0), x.size(1), x.size(2), c[arg::groups]};
}
void infer(Call& c) {
  const Tensor& x = c[arg::input];
  check_float(c.name, x, "input");
  DY_CHECK(x.dim() == 3, "{}: the input is [batch, channels, inner]: input is {}", c.name, describe(x));
  const ChannelNormShape s = shape_of(c);
  DY_CHECK(s.groups >= 0 && (s.groups == 0 || s.channels % s.groups == 0),
           "{}: the groups do not divide the channels: input is {}, groups is {}", c.name, describe(x), s.groups);
  infer_gradients(c, s.channels, s.classes());
}
struct Parameters {
  ChannelNormShape shape;
  const Format *dy, *x, *weight, *dx, *dweight, *dbias;
};
void run(const Parameters& p, const Pointers& at) {
  channel_norm_kernel().backward(p.shape, source(at, 0, p.dy), source(at, 1, p.x), source(at, 2, p.weight), at.in[3], at.in[4],
                                 target(at, 0, p.dx), target(at, 1, p.dweight), target(at, 2, p.dbias), at.workspace);
}
void plan(Call& c) {
  const Parameters p{shape_of(c),      format_of(c, arg::grad), format_of(c, arg::input), format_of(c, arg::weight),
                     result_format(c), result_format(c, 1),     result_format(c, 2)};
  c.plan.workspace = channel_norm_kernel().backward_workspace(p.shape, {nullptr, p.x});
  c.plan.set<run>(p);
}
double flops(const Call& c) { return 14.0 * double(c[arg::grad].numel()); }

bool batched(BatchedCall& b) {
  const Call& c = b.c;
  const int64_t groups = c[arg::groups], entries = b.entries;
  const auto joined = [](const Tensor& t) { return t.transpose(0, 1).flatten(1, 2); };
  const Tensor g = joined(b.whole(arg::grad)), x = joined(b.whole(arg::input)),
               w = c.has(arg::weight) ? b.whole(2).reshape({-1}) : Tensor();
  const auto statistics = [&](int k) {
    const Tensor all = b.whole(k);
    return groups ? all.reshape({entries, x.size(0), groups}).transpose(0, 1).reshape({-1}) : all.reshape({-1});
  };
  const Tensor mean = statistics(3), rstd = statistics(4);
  Arg args[] = {g, x, w, mean, rstd, groups * entries, c[arg::with_bias]};
  Tensor out[3];
  call_op(Op::native_channel_norm_backward_, args, 7, out);
  b.results[0] = out[0].reshape({x.size(0), entries, c[arg::input].size(1), x.size(2)}).transpose(0, 1);
  for (int k : {1, 2}) b.results[k] = out[k];
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "native_channel_norm_backward(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor rstd, int groups, bool "
        "with_bias) -> (Tensor, Tensor, Tensor)",
    .doc = "The gradients of native_channel_norm for input, weight and bias; the sums are added in a fixed order.",
    .internal = true,
    .samples =
        "native_channel_norm_backward(randn(2, 4, 3), randn(2, 4, 3), randn(4), randn(4; wide), rand(4; wide), 0, True)\n"
        "native_channel_norm_backward(randn(2, 4, 3), randn(2, 4, 3), randn(4), randn(4; wide), rand(4; wide), 2, True)",
    .infer = infer,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::native_channel_norm_backward_op
