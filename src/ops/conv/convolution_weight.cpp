#include <algorithm>

#include "corridor/batching.h"
#include "ops/conv/conv_shape.h"

namespace dyadic::inline v1::ops::convolution_weight_op {
namespace {

ConvArguments arguments(const Call& c) {
  const Tensor &x = c[arg::input], &g = c[arg::grad];
  const IntList size = c[arg::size];
  DY_CHECK(x.dim() >= 3 && x.dim() <= 5 && g.dim() == x.dim() && int64_t(size.size()) == x.dim() - 2 && c[arg::groups] > 0 &&
               g.size(0) == x.size(0),
           "convolution_weight: sizes do not fit: input is {}, grad is {}, size is {}", describe(x), describe(g),
           shape_text(size));
  int64_t w[5] = {g.size(1), x.size(1) / c[arg::groups]};
  std::copy(size.begin(), size.end(), w + 2);
  ConvArguments a = conv_arguments("convolution_weight", x.sizes(), {w, size_t(x.dim())}, c[arg::stride], c[arg::padding],
                                   c[arg::dilation], c[arg::groups]);
  for (int64_t d = 0; d < a.rank; ++d)
    DY_CHECK(a.shape.out[3 - a.rank + d] == g.size(2 + d),
             "convolution_weight: sizes do not fit: a convolution of {} makes {} elements in dimension {}, grad is {}",
             describe(x), a.shape.out[3 - a.rank + d], 2 + d, describe(g));
  return a;
}
void run(const ConvParameters& p, const Pointers& at) {
  conv_weight_kernel().run(p.shape, {at.in[0], p.x}, {at.in[1], p.y}, {at.out[0], p.w}, at.workspace);
}
void infer(Call& c) {
  const ConvArguments a = arguments(c);
  c.plan.make<run, ConvParameters>().shape = a.shape;
  Spec& o = c.spec[0];
  o.dtype = conv_type("convolution_weight", c[arg::input], c[arg::grad]);
  o.device = c[arg::input].device();
  o.shape({c[arg::grad].size(1), a.shape.channels});
  for (int64_t size : c[arg::size]) o.sizes[o.ndim++] = size;
}
void plan(Call& c) {
  ConvParameters& p = c.plan.parameters<ConvParameters>();
  p.x = format_of(c, arg::input), p.y = format_of(c, arg::grad), p.w = result_format(c);
  c.plan.workspace = conv_weight_kernel().workspace(p.shape, {nullptr, p.x});
}
void backward(Grad& g) {
  const IntList stride = g[arg::stride], padding = g[arg::padding], dilation = g[arg::dilation];
  const Meta& x = g.in_meta(arg::input);
  const IntList size(x.sizes + 2, size_t(x.ndim - 2));
  if (g.needs(arg::input))
    g.set(arg::input,
          call(Op::convolution_transpose_, g.in(arg::grad), g.g(), Tensor(), size, stride, padding, dilation, g[arg::groups]));
  if (g.needs(arg::grad))
    g.set(arg::grad, call(Op::convolution_, g.in(arg::input), g.g(), Tensor(), stride, padding, dilation, g[arg::groups]));
}
double flops(const Call& c) { return conv_flops(arguments(c).shape); }

bool batched(BatchedCall& b) {
  const Call& c = b.c;
  b.results[0] = call(Op::convolution_weight_, joined_channels(b.whole(arg::input)), joined_channels(b.whole(arg::grad)),
                      c[arg::size], c[arg::stride], c[arg::padding], c[arg::dilation], c[arg::groups] * b.entries);
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "convolution_weight(Tensor input, Tensor grad, int[] size, int[] stride, int[] padding, int[] dilation, int groups) -> "
        "Tensor",
    .doc = "The gradient of convolution for its weight, whose spatial sizes are `size`; images are added up in a fixed order.",
    .amp = Amp::lower,
    .internal = true,
    .samples =
        "convolution_weight(randn(2, 3, 5, 4), randn(2, 2, 3, 3), [3, 2], [1], [0], [1], 1)\n"
        "convolution_weight(randn(2, 2, 5), randn(2, 4, 3), [3], [2], [1], [1], 2)\n"
        "convolution_weight(randn(1, 2, 6, 5), randn(1, 3, 3, 5), [2, 3], [2, 1], [1, 0, 0, 2], [2, 1], 1)\n"
        "convolution_weight(randn(1, 1, 3, 4, 3), randn(1, 2, 2, 3, 2), [2, 2, 2], [1, 2, 1], [0, 1, 0], [1], 1)\n"
        "convolution_weight(randn(0, 2, 5), randn(0, 4, 3), [3], [1], [0], [1], 1)\nconvolution_weight(randn(17, 1, 2, 3), "
        "randn(17, 2, 2, 1), [1, 3], [1], [0], [1], 1)",
    .bad =
        "convolution_weight(zeros(1, 2, 5), zeros(1, 4, 4), [3], [1], [0], [1], 1) => convolution_weight: sizes do not fit: a "
        "convolution of f32[1, 2, 5] makes 3 elements in dimension 2, grad is f32[1, 4, 4]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::grad), in(arg::input)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::convolution_weight_op
