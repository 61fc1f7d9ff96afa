#include <algorithm>

#include "loops/pointwise.h"
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

struct Product {
  GemmCall gemm;
  MatrixOperand x, w, bias;
};
Product product(const Call& c) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1);
  Product p;
  DType type = gemm_type(c.spec[0].dtype);
  p.x = matrix_operand(x, type, true);
  p.w = matrix_operand(w, type);
  int64_t k = w.size(1), n = w.size(0);
  p.gemm = {rows(x), n, k, {nullptr, type, k, 1}, {}, nullptr, gemm_result(type, c.spec[0].dtype), n};
  p.gemm.b = p.w.copied ? Matrix{nullptr, type, p.w.dense_stride(*w.impl(), 1), p.w.dense_stride(*w.impl(), 2)}
                        : Matrix{nullptr, type, w.stride(1), w.stride(0)};
  if (c.has(2)) {
    p.bias = matrix_operand(c.tensor(2), p.gemm.c_dtype, true, true);
    p.gemm.bias_dtype = p.gemm.c_dtype;
  }
  return p;
}
int64_t result_bytes(const Call& c, const Product& p) {
  return p.gemm.c_dtype == c.spec[0].dtype ? 0 : (c.spec[0].numel() * p.gemm.c_dtype.itemsize() + 63) / 64 * 64;
}
int64_t workspace(const Call& c) {
  Product p = product(c);
  return p.x.bytes + p.w.bytes + p.bias.bytes + result_bytes(c, p) + int64_t(gemm_workspace(p.gemm));
}

void forward(Call& c) {
  Product p = product(c);
  char* w = static_cast<char*>(c.workspace);
  p.gemm.a.data = load_operand(c.tensor(0), p.x, w);
  w += p.x.bytes;
  p.gemm.b.data = load_operand(c.tensor(1), p.w, w);
  w += p.w.bytes;
  if (c.has(2)) p.gemm.bias = load_operand(c.tensor(2), p.bias, w);
  w += p.bias.bytes;
  const Tensor& out = c.out[0];
  bool direct = p.gemm.c_dtype == out.dtype();
  p.gemm.c = direct ? out.impl()->data() : w;
  if (!direct) w += result_bytes(c, p);
  gemm(p.gemm, w);
  if (!direct) copy_elements(out, make_over(p.gemm.c, out.sizes(), p.gemm.c_dtype));
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
    .forward = forward,
    .backward = backward,
    .needs = {in(1), in(0), 0},
    .flops = flops,
    .workspace = workspace,
    .complex = complex_linear,
};

}  // namespace dyadic::inline v1::ops::linear_op
