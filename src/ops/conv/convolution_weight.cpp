#include <algorithm>

#include "ops/conv/conv_shape.h"

namespace dyadic::inline v1::ops::convolution_weight_op {
namespace {

ConvArguments arguments(const Call& c) {
  const Tensor &x = c.tensor(0), &g = c.tensor(1);
  const IntList size = c.ints(2);
  DY_CHECK(x.dim() >= 3 && x.dim() <= 5 && g.dim() == x.dim() && int64_t(size.size()) == x.dim() - 2 && c.integer(6) > 0 &&
               g.size(0) == x.size(0),
           "convolution_weight: sizes do not fit: input is {}, grad is {}, size is {}", describe(x), describe(g),
           shape_text(size));
  int64_t w[5] = {g.size(1), x.size(1) / c.integer(6)};
  std::copy(size.begin(), size.end(), w + 2);
  ConvArguments a =
      conv_arguments("convolution_weight", x.sizes(), {w, size_t(x.dim())}, c.ints(3), c.ints(4), c.ints(5), c.integer(6));
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
  o.dtype = conv_type("convolution_weight", c.tensor(0), c.tensor(1));
  o.device = c.tensor(0).device();
  o.shape({c.tensor(1).size(1), a.shape.channels});
  for (int64_t size : c.ints(2)) o.sizes[o.ndim++] = size;
}
void plan(Call& c) {
  ConvParameters& p = c.plan.parameters<ConvParameters>();
  p.x = format_of(c, 0), p.y = format_of(c, 1), p.w = result_format(c);
  c.plan.workspace = conv_weight_kernel().workspace(p.shape, {nullptr, p.x});
}
void backward(Grad& g) {
  const IntList stride = g.ints(3), padding = g.ints(4), dilation = g.ints(5);
  const Meta& x = g.in_meta(0);
  const IntList size(x.sizes + 2, size_t(x.ndim - 2));
  if (g.needs(0))
    g.set(0, call(Op::convolution_transpose_, g.in(1), g.g(), Tensor(), size, stride, padding, dilation, g.integer(6)));
  if (g.needs(1)) g.set(1, call(Op::convolution_, g.in(0), g.g(), Tensor(), stride, padding, dilation, g.integer(6)));
}
double flops(const Call& c) { return conv_flops(arguments(c).shape); }

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
    .needs = {in(1), in(0)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::convolution_weight_op
