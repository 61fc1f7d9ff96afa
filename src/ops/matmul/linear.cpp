#include "corridor/batching.h"
#include "ops/complex_math.h"
#include "ops/matmul/operand.h"
#include "ops/precision.h"

namespace dyadic::inline v1::ops::linear_op {
namespace {

// All leading dimensions of the input are rows.
int64_t rows(const Tensor& x) {
  int64_t n = 1;
  for (int64_t i = 0; i + 1 < x.dim(); ++i) n *= x.size(i);
  return n;
}

DType common_type(const Call& c) {
  DType x = c[arg::input].dtype(), w = c[arg::weight].dtype();
  if (!x.is_integer()) check_float("linear", c[arg::input], "input");
  // A weight stored in 16 bits or fewer, fewer than the input's, is decoded; the arithmetic is the input's. f64 beside f32 is a
  // mistake: NumPy's numbers in a model of f32 would compute all of it in f64.
  if (w.is_scaled() || x.is_scaled()) return !x.is_scaled() ? x : !w.is_scaled() ? w : f32;
  const int bits = w.format()->def->bits;
  const bool narrower = w.is_floating_point() && bits <= 16 && bits < x.format()->def->bits;
  DY_CHECK_AS(TypeError, x == w || narrower, "linear: dtypes differ: input is {}, weight is {}; convert one with .to",
              describe(c[arg::input]), describe(c[arg::weight]));
  return x;
}

// A weight of one dimension gives one number for each row, which has no dimension in the result.
int64_t numbers(IntList weight) { return weight.size() == 1 ? 1 : weight[0]; }
Operand as_matrix(Operand w) {
  if (w.ndim == 2) return w;
  w.ndim = 2;
  w.lengths[1] = w.lengths[0], w.steps[1] = w.steps[0];
  w.lengths[0] = 1, w.steps[0] = w.lengths[1];
  return w;
}

void infer(Call& c) {
  const Tensor &x = c[arg::input], &w = c[arg::weight];
  DY_CHECK(x.dim() >= 1 && (w.dim() == 2 || (w.dim() == 1 && !c.has(arg::bias))) && x.size(-1) == w.size(-1),
           "linear: sizes do not fit: input is {}, weight is {}; input.size(-1) must be weight.size(1)", describe(x),
           describe(w));
  if (c.has(arg::bias))
    DY_CHECK(c[arg::bias].dim() == 1 && c[arg::bias].size(0) == w.size(0),
             "linear: the bias does not fit: weight is {}, bias is {}", describe(w), describe(c[arg::bias]));
  c.fewer_bits = int(matmul_rounding());
  Spec& o = c.spec[0];
  o.dtype = common_type(c);
  o.device = x.device();
  o.shape(x.sizes());
  if (w.dim() == 1)
    --o.ndim;
  else
    o.sizes[o.ndim - 1] = w.size(0);
}

double flops(const Call& c) {
  return 2.0 * double(c[arg::input].numel()) * double(numbers(c[arg::weight].sizes())) +
         (c.has(arg::bias) ? double(rows(c[arg::input]) * c[arg::weight].size(0)) : 0);
}

void plan(Call& c) {
  Product& p = c.plan.make<run_product, Product>();
  const Tensor &x = c[arg::input], &w = c[arg::weight];
  p.m = rows(x), p.n = numbers(w.sizes()), p.k = w.size(-1);
  const DType type = gemm_type(c.spec[0].dtype);
  Operand input = c.operand(arg::input);
  if (input.dense) input.reshape({p.m, p.k});
  p.a = {input, type, Side::left, true};
  p.b = {as_matrix(c.operand(arg::weight)), type, Side::right};
  if (c.has(arg::bias)) p.bias = {c.operand(arg::bias), gemm_result(type, c.spec[0].dtype), Side::bias, true};
  plan_product(c, p, {p.k, 1, p.b.step(1), p.b.step(2)});
}

void backward(Grad& g) {
  const Meta &x = g.in_meta(arg::input), &w = g.in_meta(arg::weight);
  const int64_t n = numbers(w.shape()), k = w.sizes[w.ndim - 1];
  int64_t m = 1;
  for (int d = 0; d + 1 < x.ndim; ++d) m *= x.sizes[d];
  const Tensor d = g.g().reshape({m, n});
  if (g.needs(arg::input)) g.set(arg::input, matmul(d, g.in(arg::weight).reshape({n, k})).reshape(x.shape()));
  if (g.needs(arg::weight)) g.set(arg::weight, matmul(d.t(), g.in(arg::input).reshape({m, k})).reshape(w.shape()));
  if (g.has(arg::bias) && g.needs(arg::bias)) g.set(arg::bias, sum(d, {0}));
}

bool batched(BatchedCall& b) {
  const Call& c = b.c;
  const bool bias = c.has(arg::bias), own = bias && b.is_batched(2);
  if (!b.is_batched(arg::weight) && !own) return b.leading(in(arg::weight) | in(2));
  const int64_t n = numbers(c[arg::weight].sizes()), k = c[arg::weight].size(-1), m = rows(c[arg::input]);
  Tensor y;
  if (!b.is_batched(arg::weight)) {
    y = linear(b.given(arg::input), c[arg::weight]);
    y = y.reshape({b.is_batched(arg::input) ? b.entries : 1, m, n});
  } else {
    const Tensor x = b.given(arg::input), w = b.given(arg::weight).reshape({b.entries, n, k});
    y = matmul(x.reshape(b.is_batched(arg::input) ? std::vector<int64_t>{b.entries, m, k} : std::vector<int64_t>{m, k}),
               w.mT());
  }
  if (bias) y = add(y, own ? b.given(2).reshape({b.entries, 1, n}) : c[arg::bias]);
  b.results[0] = y;
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    .doc =
        "input W^T + bias over the last dimension: weight is [out, in], bias [out]; a weight [in] gives a number for each row. "
        "Stored weights are decoded where it reads "
        "them.",
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
    .needs = {in(arg::weight), in(arg::input), 0},
    .flops = flops,
    .complex = complex_linear,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(0) | in(1)};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::linear_op
