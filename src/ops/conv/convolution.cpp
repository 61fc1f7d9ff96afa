#include "ops/conv/conv_shape.h"

namespace dyadic::inline v1::ops::convolution_op {
namespace {

ConvArguments arguments(const Call& c) {
  return conv_arguments("convolution", c.tensor(0).sizes(), c.tensor(1).sizes(), c.ints(3), c.ints(4), c.ints(5), c.integer(6));
}
void run(const ConvParameters& p, const Pointers& at) {
  conv_kernel().forward(p.shape, source(at, 0, p.x), source(at, 1, p.w), source(at, 2, p.bias), target(at, 0, p.y),
                        at.workspace);
}
void infer(Call& c) {
  const ConvArguments a = arguments(c);
  c.plan.make<run, ConvParameters>().shape = a.shape;
  Spec& o = c.spec[0];
  o.dtype = conv_type("convolution", c.tensor(0), c.tensor(1));
  o.device = c.tensor(0).device();
  const int64_t filters = c.tensor(1).size(0);
  if (c.has(2)) {
    DY_CHECK(c.tensor(2).dim() == 1 && c.tensor(2).size(0) == filters,
             "convolution: the bias does not fit: weight is {}, bias is {}", describe(c.tensor(1)), describe(c.tensor(2)));
    conv_type("convolution", c.tensor(1), c.tensor(2));
  }
  o.shape({c.tensor(0).size(0), filters});
  for (int64_t d = 0; d < a.rank; ++d) o.sizes[o.ndim++] = a.shape.out[3 - a.rank + d];
}
void plan(Call& c) {
  ConvParameters& p = c.plan.parameters<ConvParameters>();
  p.x = format_of(c, 0), p.w = format_of(c, 1), p.bias = format_of(c, 2), p.y = result_format(c);
  c.plan.workspace = conv_kernel().forward_workspace(p.shape, {nullptr, p.x}, {nullptr, p.w});
}
void backward(Grad& g) {
  const IntList stride = g.ints(3), padding = g.ints(4), dilation = g.ints(5);
  const Meta &x = g.in_meta(0), &w = g.in_meta(1);
  const IntList size(x.sizes + 2, size_t(x.ndim - 2)), kernel(w.sizes + 2, size_t(w.ndim - 2));
  if (g.needs(0))
    g.set(0, call(Op::convolution_transpose_, g.g(), g.in(1), Tensor(), size, stride, padding, dilation, g.integer(6)));
  if (g.needs(1)) g.set(1, call(Op::convolution_weight_, g.in(0), g.g(), kernel, stride, padding, dilation, g.integer(6)));
  if (g.has(2) && g.needs(2)) {
    const int64_t dims[] = {0, 2, 3, 4};
    g.set(2, sum(g.g(), {dims, size_t(x.ndim - 1)}));
  }
}
double flops(const Call& c) { return conv_flops(arguments(c).shape) + (c.has(2) ? double(c.spec[0].numel()) : 0); }

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
    .needs = {in(1), in(0), 0},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::convolution_op
