#include "ops/complex_math.h"
#include "ops/matmul/operand.h"

namespace dyadic::inline v1::ops::linear_op {
namespace {

// All leading dimensions of the input are rows.
int64_t rows(const Tensor& x) {
  int64_t n = 1;
  for (int64_t i = 0; i + 1 < x.dim(); ++i) n *= x.size(i);
  return n;
}

DType common_type(const Call& c) {
  DType x = c.tensor(0).dtype(), w = c.tensor(1).dtype();
  check_float("linear", c.tensor(0), "input");
  // A weight stored in 16 bits or fewer, fewer than the input's, is decoded; the arithmetic is the input's. f64 beside f32 is a
  // mistake: NumPy's numbers in a model of f32 would compute all of it in f64.
  if (w.is_scaled() || x.is_scaled()) return !x.is_scaled() ? x : !w.is_scaled() ? w : f32;
  const int bits = w.format()->def->bits;
  const bool narrower = w.is_floating_point() && bits <= 16 && bits < x.format()->def->bits;
  DY_CHECK_AS(TypeError, x == w || narrower, "linear: dtypes differ: input is {}, weight is {}; convert one with .to",
              describe(c.tensor(0)), describe(c.tensor(1)));
  return x;
}

void infer(Call& c) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1);
  DY_CHECK(x.dim() >= 1 && w.dim() == 2 && x.size(-1) == w.size(1),
           "linear: sizes do not fit: input is {}, weight is {}; input.size(-1) must be weight.size(1)", describe(x),
           describe(w));
  if (c.has(2))
    DY_CHECK(c.tensor(2).dim() == 1 && c.tensor(2).size(0) == w.size(0),
             "linear: the bias does not fit: weight is {}, bias is {}", describe(w), describe(c.tensor(2)));
  Spec& o = c.spec[0];
  o.dtype = common_type(c);
  o.device = x.device();
  o.shape(x.sizes());
  o.sizes[o.ndim - 1] = w.size(0);
}

double flops(const Call& c) {
  return 2.0 * double(c.tensor(0).numel()) * double(c.tensor(1).size(0)) +
         (c.has(2) ? double(rows(c.tensor(0)) * c.tensor(1).size(0)) : 0);
}

void plan(Call& c) {
  Product& p = c.plan.make<run_product, Product>();
  const Tensor &x = c.tensor(0), &w = c.tensor(1);
  p.m = rows(x), p.n = w.size(0), p.k = w.size(1);
  const DType type = gemm_type(c.spec[0].dtype);
  Operand input = c.operand(0);
  if (input.dense) input.reshape({p.m, p.k});
  p.a = {input, type, Side::left, true};
  p.b = {c.operand(1), type, Side::right};
  if (c.has(2)) p.bias = {c.operand(2), gemm_result(type, c.spec[0].dtype), Side::bias, true};
  plan_product(c, p, {p.k, 1, p.b.step(1), p.b.step(2)});
}

void backward(Grad& g) {
  const Tensor& d = g.g();
  int64_t n = g.in_meta(1).sizes[0], k = g.in_meta(1).sizes[1];
  if (g.needs(0)) g.set(0, matmul(d.reshape({rows(d), n}), g.in(1)).reshape(g.in_meta(0).shape()));
  if (g.needs(1)) g.set(1, matmul(d.reshape({rows(d), n}).t(), g.in(0).reshape({rows(d), k})));
  if (g.has(2) && g.needs(2)) g.set(2, sum(d.reshape({rows(d), n}), {0}));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    .doc =
        "input W^T + bias over the last dimension: weight is [out, in], bias [out]. Scaled weights are decoded once per call.",
    .amp = Amp::lower,
    .samples =
        "linear(randn(2, 3, 4), randn(5, 4), randn(5))\nlinear(randn(3, 4), randn(5, 4))\nlinear(randn(3, 0), randn(5, 0), "
        "randn(5))",
    .bad =
        "linear(zeros(2, 3), zeros(4, 5)) => linear: sizes do not fit: input is f32[2, 3], weight is f32[4, 5]; input.size(-1) "
        "must be weight.size(1)",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .infer = infer,
    .backward = backward,
    .needs = {in(1), in(0), 0},
    .flops = flops,
    .complex = complex_linear,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(0) | in(1)};

}  // namespace dyadic::inline v1::ops::linear_op
