#include "corridor/batching.h"
#include "ops/conv/conv_shape.h"

namespace dyadic::inline v1::ops::convolution_op {
namespace {

ConvArguments arguments(const Call& c) {
  return conv_arguments("convolution", c[arg::input].sizes(), c[arg::weight].sizes(), c[arg::stride], c[arg::padding],
                        c[arg::dilation], c[arg::groups]);
}
void run(const ConvParameters& p, const Pointers& at) {
  conv_kernel().forward(p.shape, source(at, 0, p.x), source(at, 1, p.w), source(at, 2, p.bias), target(at, 0, p.y),
                        at.workspace);
}
void infer(Call& c) {
  const ConvArguments a = arguments(c);
  c.plan.make<run, ConvParameters>().shape = a.shape;
  Spec& o = c.spec[0];
  o.dtype = conv_type("convolution", c[arg::input], c[arg::weight]);
  o.device = c[arg::input].device();
  const int64_t filters = c[arg::weight].size(0);
  if (c.has(arg::bias)) {
    DY_CHECK(c[arg::bias].dim() == 1 && c[arg::bias].size(0) == filters,
             "convolution: the bias does not fit: weight is {}, bias is {}", describe(c[arg::weight]), describe(c[arg::bias]));
    conv_type("convolution", c[arg::weight], c[arg::bias]);
  }
  o.shape({c[arg::input].size(0), filters});
  for (int64_t d = 0; d < a.rank; ++d) o.sizes[o.ndim++] = a.shape.out[3 - a.rank + d];
}
void plan(Call& c) {
  ConvParameters& p = c.plan.parameters<ConvParameters>();
  p.x = format_of(c, arg::input), p.w = format_of(c, arg::weight), p.bias = format_of(c, arg::bias), p.y = result_format(c);
  c.plan.workspace = conv_kernel().forward_workspace(p.shape, {nullptr, p.x}, {nullptr, p.w});
}
void backward(Grad& g) {
  const IntList stride = g[arg::stride], padding = g[arg::padding], dilation = g[arg::dilation];
  const Meta &x = g.in_meta(arg::input), &w = g.in_meta(arg::weight);
  const IntList size(x.sizes + 2, size_t(x.ndim - 2)), kernel(w.sizes + 2, size_t(w.ndim - 2));
  if (g.needs(arg::input))
    g.set(arg::input, call(Op::convolution_transpose_, g.g(), g.in(arg::weight), Tensor(), size, stride, padding, dilation,
                           g[arg::groups]));
  if (g.needs(arg::weight))
    g.set(arg::weight,
          call(Op::convolution_weight_, g.in(arg::input), g.g(), kernel, stride, padding, dilation, g[arg::groups]));
  if (g.has(arg::bias) && g.needs(arg::bias)) {
    const int64_t dims[] = {0, 2, 3, 4};
    g.set(arg::bias, sum(g.g(), {dims, size_t(x.ndim - 1)}));
  }
}
double flops(const Call& c) { return conv_flops(arguments(c).shape) + (c.has(arg::bias) ? double(c.spec[0].numel()) : 0); }

// A call of many is one with more groups: [entries, N, channels, ...] as [N, entries channels, ...].
bool batched(BatchedCall& b) {
  const Call& c = b.c;
  if (!b.is_batched(arg::weight) && !b.is_batched(2)) return b.first(in(arg::weight) | in(2));
  const Tensor bias = c.has(arg::bias) ? b.whole(2).reshape({-1}) : Tensor();
  b.results[0] =
      split_channels(call(Op::convolution_, joined_channels(b.whole(arg::input)), joined_filters(b.whole(arg::weight)), bias,
                          c[arg::stride], c[arg::padding], c[arg::dilation], c[arg::groups] * b.entries),
                     b.entries);
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> "
        "Tensor",
    .doc =
        "Cross-correlation of input [N, C, sizes ...] with weight [filters, C / groups, sizes ...], plus bias [filters], in "
        "one "
        "to three dimensions. padding: one number, one per dimension, or all before and then all behind. f16 and bf16 are "
        "summed in f32 and rounded once.",
    .amp = Amp::lower,
    .internal = true,
    .samples =
        "convolution(randn(2, 3, 5, 4), randn(2, 3, 3, 2), randn(2), [1], [0], [1], 1)\n"
        "convolution(randn(1, 2, 5), randn(4, 1, 3), None, [2], [1], [1], 2)\n"
        "convolution(randn(1, 2, 6, 5), randn(3, 2, 2, 3), randn(3), [2, 1], [1, 0, 0, 2], [2, 1], 1)\n"
        "convolution(randn(1, 1, 3, 4, 3), randn(2, 1, 2, 2, 2), None, [1, 2, 1], [0, 1, 0], [1], 1)\n"
        "convolution(randn(0, 2, 5), randn(4, 2, 3), None, [1], [0], [1], 1)\nconvolution(randn(17, 1, 2, 3), randn(2, 1, 2, "
        "2), randn(2), [1], [1, 0], [1], 1)",
    .bad =
        "convolution(zeros(1, 3, 5), zeros(4, 2, 3), None, [1], [0], [1], 1) => convolution: channels do not fit: input is [1, "
        "3, "
        "5], weight is [4, 2, 3], groups is 1; weight.size(1) must be input.size(1) / groups, and groups divide "
        "weight.size(0)\n"
        "convolution(zeros(1, 2, 3), zeros(4, 2, 5), None, [1], [0], [1], 1) => convolution: the kernel does not fit: input is "
        "[1, 2, 3], weight is [4, 2, 5], padding is [0], dilation is [1]; dimension 2 of the padded input has 3 elements, the "
        "kernel spans 5",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::weight), in(arg::input), 0},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::convolution_op
