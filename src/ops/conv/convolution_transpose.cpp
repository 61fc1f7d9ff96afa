#include "corridor/batching.h"
#include "ops/conv/conv_shape.h"

namespace dyadic::inline v1::ops::convolution_transpose_op {
namespace {

// The convolution whose input is this op's result.
ConvArguments arguments(const Call& c) {
  const Tensor &y = c[arg::input], &w = c[arg::weight];
  const IntList size = c[arg::size];
  DY_CHECK(y.dim() >= 3 && y.dim() <= 5 && w.dim() == y.dim() && int64_t(size.size()) == y.dim() - 2 && c[arg::groups] > 0 &&
               y.size(1) == w.size(0),
           "convolution_transpose: sizes do not fit: input is {}, weight is {}, size is {}", describe(y), describe(w),
           shape_text(size));
  int64_t x[5] = {y.size(0), w.size(1) * c[arg::groups]};
  for (size_t d = 0; d < size.size(); ++d) x[2 + d] = size[d];
  ConvArguments a = conv_arguments("convolution_transpose", {x, size_t(y.dim())}, w.sizes(), c[arg::stride], c[arg::padding],
                                   c[arg::dilation], c[arg::groups]);
  for (int64_t d = 0; d < a.rank; ++d)
    DY_CHECK(a.shape.out[3 - a.rank + d] == y.size(2 + d),
             "convolution_transpose: sizes do not fit: a convolution of {} makes {} elements in dimension {}, input is {}",
             shape_text({x, size_t(y.dim())}), a.shape.out[3 - a.rank + d], 2 + d, describe(y));
  return a;
}
void run(const ConvParameters& p, const Pointers& at) {
  conv_kernel().input(p.shape, source(at, 0, p.x), source(at, 1, p.w), source(at, 2, p.bias), target(at, 0, p.y), at.workspace);
}
void infer(Call& c) {
  const ConvArguments a = arguments(c);
  c.plan.make<run, ConvParameters>().shape = a.shape;
  Spec& o = c.spec[0];
  o.dtype = conv_type("convolution_transpose", c[arg::input], c[arg::weight]);
  o.device = c[arg::input].device();
  const int64_t filters = a.shape.channels * a.shape.groups;
  if (c.has(arg::bias)) {
    DY_CHECK(c[arg::bias].dim() == 1 && c[arg::bias].size(0) == filters,
             "convolution_transpose: the bias does not fit: weight is {}, groups is {}, bias is {}", describe(c[arg::weight]),
             c[arg::groups], describe(c[arg::bias]));
    conv_type("convolution_transpose", c[arg::weight], c[arg::bias]);
  }
  o.shape({c[arg::input].size(0), filters});
  for (int64_t size : c[arg::size]) o.sizes[o.ndim++] = size;
}
void plan(Call& c) {
  ConvParameters& p = c.plan.parameters<ConvParameters>();
  p.x = format_of(c, arg::input), p.w = format_of(c, arg::weight), p.bias = format_of(c, arg::bias), p.y = result_format(c);
  c.plan.workspace = conv_kernel().input_workspace(p.shape, {nullptr, p.x}, {nullptr, p.w});
}
void backward(Grad& g) {
  const IntList stride = g[arg::stride], padding = g[arg::padding], dilation = g[arg::dilation];
  const Meta& w = g.in_meta(arg::weight);
  const IntList kernel(w.sizes + 2, size_t(w.ndim - 2));
  if (g.needs(arg::input))
    g.set(arg::input, call(Op::convolution_, g.g(), g.in(arg::weight), Tensor(), stride, padding, dilation, g[arg::groups]));
  if (g.needs(arg::weight))
    g.set(arg::weight,
          call(Op::convolution_weight_, g.g(), g.in(arg::input), kernel, stride, padding, dilation, g[arg::groups]));
  if (g.has(arg::bias) && g.needs(arg::bias)) {
    const int64_t dims[] = {0, 2, 3, 4};
    g.set(arg::bias, sum(g.g(), {dims, size_t(w.ndim - 1)}));
  }
}
double flops(const Call& c) { return conv_flops(arguments(c).shape) + (c.has(arg::bias) ? double(c.spec[0].numel()) : 0); }

// A call of many is one with more groups: [entries, N, channels, ...] as [N, entries channels, ...].
bool batched(BatchedCall& b) {
  const Call& c = b.c;
  if (!b.is_batched(arg::weight) && !b.is_batched(2)) return b.first(in(arg::weight) | in(2));
  const Tensor bias = c.has(arg::bias) ? b.whole(2).reshape({-1}) : Tensor();
  b.results[0] = split_channels(
      call(Op::convolution_transpose_, joined_channels(b.whole(arg::input)), joined_filters(b.whole(arg::weight)), bias,
           c[arg::size], c[arg::stride], c[arg::padding], c[arg::dilation], c[arg::groups] * b.entries),
      b.entries);
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "convolution_transpose(Tensor input, Tensor weight, Tensor? bias, int[] size, int[] stride, int[] padding, int[] "
        "dilation, int groups) -> Tensor",
    .doc =
        "The gradient of convolution for an input whose spatial sizes are `size`, plus bias: input [N, C, sizes ...], weight "
        "[C, "
        "filters / groups, sizes ...].",
    .amp = Amp::lower,
    .internal = true,
    .samples =
        "convolution_transpose(randn(2, 2, 3, 3), randn(2, 3, 3, 2), randn(3), [5, 4], [1], [0], [1], 1)\n"
        "convolution_transpose(randn(1, 4, 3), randn(4, 1, 3), None, [6], [2], [1], [1], 2)\n"
        "convolution_transpose(randn(1, 3, 2, 3), randn(3, 2, 2, 3), randn(2), [5, 5], [3, 1], [1, 0, 0, 0], [2, 1], 1)\n"
        "convolution_transpose(randn(1, 2, 2, 1, 2), randn(2, 1, 2, 2, 1), None, [3, 2, 4], [1, 2, 3], [0], [1], "
        "1)\nconvolution_transpose(randn(17, 1, 2, 3), randn(1, 2, 2, 2), randn(2), [3, 4], [1], [0], [1], 1)",
    .bad =
        "convolution_transpose(zeros(1, 4, 3), zeros(4, 1, 3), None, [9], [2], [1], [1], 2) => convolution_transpose: sizes do "
        "not "
        "fit: a convolution of [1, 2, 9] makes 5 elements in dimension 2, input is f32[1, 4, 3]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::weight), in(arg::input), 0},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::convolution_transpose_op
