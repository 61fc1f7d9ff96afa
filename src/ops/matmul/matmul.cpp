#include <algorithm>

#include "loops/pointwise.h"
#include "ops/matmul/operand.h"

namespace dyadic::inline v1::ops::matmul_op {
namespace {

struct Shape {
  int64_t m, n, k;
  bool vector_a, vector_b;
  int batch_dims = 0;
  int64_t batch_sizes[kMaxDims];
};
Shape shape(const Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  DY_CHECK(a.dim() > 0 && b.dim() > 0, "matmul: a 0-d tensor is not a matrix: a is {}, b is {}; use mul", describe(a),
           describe(b));
  Shape s;
  s.vector_a = a.dim() == 1;
  s.vector_b = b.dim() == 1;
  s.m = s.vector_a ? 1 : a.size(-2);
  s.k = a.size(-1);
  s.n = s.vector_b ? 1 : b.size(-1);
  int64_t kb = s.vector_b ? b.size(0) : b.size(-2);
  DY_CHECK(s.k == kb, "matmul: inner sizes differ: a is {}, b is {}; a.size(-1) = {}, b.size({}) = {}", describe(a),
           describe(b), s.k, s.vector_b ? -1 : -2, kb);
  int64_t da = std::max<int64_t>(a.dim() - 2, 0), db = std::max<int64_t>(b.dim() - 2, 0);
  s.batch_dims = int(std::max(da, db));
  for (int d = 0; d < s.batch_dims; ++d) {
    int64_t x = d < s.batch_dims - da ? 1 : a.size(d - (s.batch_dims - da)),
            y = d < s.batch_dims - db ? 1 : b.size(d - (s.batch_dims - db));
    DY_CHECK(x == y || x == 1 || y == 1, "matmul: batch sizes do not broadcast: a is {}, b is {}", describe(a), describe(b));
    s.batch_sizes[d] = x == 1 ? y : x;
  }
  return s;
}

DType common_type(const Call& c) {
  DType a = c.tensor(0).dtype(), b = c.tensor(1).dtype();
  if (a.is_complex() || b.is_complex()) return promote_types(a, b);
  if (a.is_scaled() || b.is_scaled())
    return a.is_scaled() ? (b.is_floating_point() ? b : f32) : (a.is_floating_point() ? a : f32);
  DY_CHECK_AS(TypeError, a == b, "matmul: dtypes differ: a is {}, b is {}; convert one with .to", describe(c.tensor(0)),
              describe(c.tensor(1)));
  return a;
}

void infer(Call& c) {
  Shape s = shape(c);
  Spec& o = c.spec[0];
  o.dtype = common_type(c);
  o.device = c.tensor(0).device();
  o.shape({s.batch_sizes, size_t(s.batch_dims)});
  if (!s.vector_a) o.sizes[o.ndim++] = s.m;
  if (!s.vector_b) o.sizes[o.ndim++] = s.n;
}

double flops(const Call& c) {
  Shape s = shape(c);
  double batch = 1;
  for (int d = 0; d < s.batch_dims; ++d) batch *= double(s.batch_sizes[d]);
  return (c.spec[0].dtype.is_complex() ? 8.0 : 2.0) * batch * double(s.m) * double(s.n) * double(s.k);
}

// Every operand of the batch as the library wants it. `batch` of them, in the last dimensions, lie one stride apart and are
// handed on as a whole; there are `outer` such.
struct Product {
  Shape s;
  MatrixOperand a, b;
  GemmCall gemm;
  int64_t batch = 1, a_stride = 0, b_stride = 0, outer = 1;
  BatchedGemm batched() const { return {gemm, batch, a_stride, b_stride, s.m * s.n}; }
};
// Merges the batch's dimensions from the last on while both operands step through them as through one.
void merge_batch(Product& p, const TensorImpl& a, const TensorImpl& b) {
  bool open = true;
  for (int d = p.s.batch_dims - 1; d >= 0; --d) {
    const int64_t size = p.s.batch_sizes[d];
    if (size == 1) continue;
    const int back = p.s.batch_dims - d + 2;
    const int64_t step_a = batch_step(a, p.a, back), step_b = batch_step(b, p.b, back);
    if (p.batch == 1 && p.outer == 1) {
      p.batch = size, p.a_stride = step_a, p.b_stride = step_b;
      continue;
    }
    open = open && step_a == p.batch * p.a_stride && step_b == p.batch * p.b_stride;
    (open ? p.batch : p.outer) *= size;
  }
}
Product product(const Call& c) {
  Product p;
  p.s = shape(c);
  DType type = gemm_type(c.spec[0].dtype);
  p.a = matrix_operand(c.tensor(0), type);
  p.b = matrix_operand(c.tensor(1), type);
  const TensorImpl &ta = c.impl(0), &tb = c.impl(1);
  auto step = [](const TensorImpl& t, const MatrixOperand& m, int back) {
    return m.copied ? m.dense_stride(t, back) : t.strides[t.ndim - back];
  };
  p.gemm = {p.s.m, p.s.n, p.s.k, {}, {}, nullptr, gemm_result(type, c.spec[0].dtype), p.s.n};
  p.gemm.a = {nullptr, type, p.s.vector_a ? 0 : step(ta, p.a, 2), step(ta, p.a, 1)};
  p.gemm.b = {nullptr, type, p.s.vector_b ? step(tb, p.b, 1) : step(tb, p.b, 2), p.s.vector_b ? 1 : step(tb, p.b, 1)};
  merge_batch(p, ta, tb);
  return p;
}

int64_t workspace(const Call& c) {
  Product p = product(c);
  int64_t result = p.gemm.c_dtype == c.spec[0].dtype ? 0 : c.spec[0].numel() * p.gemm.c_dtype.itemsize();
  return p.a.bytes + p.b.bytes + (result + 63) / 64 * 64 + int64_t(gemm_workspace(p.batched()));
}

void forward(Call& c) {
  Product p = product(c);
  char* w = static_cast<char*>(c.workspace);
  const char* a = load_operand(c.tensor(0), p.a, w);
  w += p.a.bytes;
  const char* b = load_operand(c.tensor(1), p.b, w);
  w += p.b.bytes;
  const Tensor& out = c.out[0];
  bool direct = p.gemm.c_dtype == out.dtype();
  char* result = direct ? out.impl()->data() : w;
  int64_t size = p.gemm.a.dtype.itemsize(), out_size = p.gemm.c_dtype.itemsize();
  if (!direct) w += (out.numel() * out_size + 63) / 64 * 64;
  const int64_t* sizes = p.s.batch_sizes;
  for (int64_t i = 0; i < p.outer * p.batch; i += p.batch) {
    p.gemm.a.data = a + batch_offset(c.impl(0), p.a, sizes, p.s.batch_dims, i) * size;
    p.gemm.b.data = b + batch_offset(c.impl(1), p.b, sizes, p.s.batch_dims, i) * size;
    p.gemm.c = result + i * p.s.m * p.s.n * out_size;
    gemm_batched(p.batched(), w);
  }
  if (!direct) copy_elements(out, make_over(result, out.sizes(), p.gemm.c_dtype));
}

// dA = G B^H, dB = A^H G, batch dimensions that were broadcast are summed by the engine.
void backward(Grad& g) {
  bool va = g.in_meta(0).ndim == 1, vb = g.in_meta(1).ndim == 1;
  auto set = [&](int i, const Tensor& r) {
    g.set(i, r.dtype().is_complex() && !g.in_meta(i).dtype.is_complex() ? real(r) : r);
  };
  Tensor d = g.g();
  if (va) d = unsqueeze(d, vb ? -1 : -2);
  if (vb) d = unsqueeze(d, -1);
  if (g.needs(0)) {
    Tensor b = vb ? unsqueeze(g.in(1), 1) : g.in(1);
    Tensor r = matmul(d, adjoint(b));
    set(0, va ? squeeze(r, -2) : r);
  }
  if (g.needs(1)) {
    Tensor a = va ? unsqueeze(g.in(0), 0) : g.in(0);
    if (!vb && !va && g.in_meta(1).ndim == 2 && g.in_meta(0).ndim > 2) {  // one product over all batches
      int64_t k = a.size(-1), n = d.size(-1);
      return set(1, matmul(adjoint(a.reshape({-1, k})), d.reshape({-1, n})));
    }
    Tensor r = matmul(adjoint(a), d);
    set(1, vb ? squeeze(r, -1) : r);
  }
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "matmul(Tensor self, Tensor other) -> Tensor",
    .doc =
        "Matrix product over the last two dimensions, batch dimensions broadcast; vectors are rows on the left and columns on "
        "the right. f16 and bf16 are summed in f32 and rounded once.",
    .amp = Amp::lower,
    .samples =
        "matmul(randn(2, 3, 4), randn(4, 5))\nmatmul(randn(4), randn(4))\nmatmul(randn(3, 4), randn(4))\nmatmul(randn(4), "
        "randn(4, 2))\nmatmul(randn(2, 1, 3, 4), randn(3, 4, 2))\n"
        "matmul(randn(2, 3, 4; complex), randn(4, 5; complex))\nmatmul(randn(3, 4; complex), randn(4; complex))\n"
        "matmul(randn(4; complex), randn(4, 3; complex))",
    .bad =
        "matmul(zeros(2, 3), zeros(4, 5)) => matmul: inner sizes differ: a is f32[2, 3], b is f32[4, 5]; a.size(-1) = 3, "
        "b.size(-2) = 4",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1), in(0)},
    .flops = flops,
    .workspace = workspace,
    .complex_kernel = true,
};

}  // namespace dyadic::inline v1::ops::matmul_op
