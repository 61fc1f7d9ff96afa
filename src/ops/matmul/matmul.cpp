#include <algorithm>

#include "corridor/batching.h"
#include "ops/matmul/operand.h"
#include "ops/precision.h"

namespace dyadic::inline v1::ops::matmul_op {
namespace {

// Sizes, and the batch that both broadcast to.
void set_sizes(Product& p, const Tensor& a, const Tensor& b) {
  DY_CHECK(a.dim() > 0 && b.dim() > 0, "matmul: a 0-d tensor is not a matrix: a is {}, b is {}; use mul", describe(a),
           describe(b));
  p.m = a.dim() == 1 ? 1 : a.size(-2);
  p.k = a.size(-1);
  p.n = b.dim() == 1 ? 1 : b.size(-1);
  int64_t kb = b.dim() == 1 ? b.size(0) : b.size(-2);
  DY_CHECK(p.k == kb, "matmul: inner sizes differ: a is {}, b is {}; a.size(-1) = {}, b.size({}) = {}", describe(a),
           describe(b), p.k, b.dim() == 1 ? -1 : -2, kb);
  int64_t da = std::max<int64_t>(a.dim() - 2, 0), db = std::max<int64_t>(b.dim() - 2, 0);
  p.batch_dims = int(std::max(da, db));
  for (int d = 0; d < p.batch_dims; ++d) {
    int64_t x = d < p.batch_dims - da ? 1 : a.size(d - (p.batch_dims - da)),
            y = d < p.batch_dims - db ? 1 : b.size(d - (p.batch_dims - db));
    DY_CHECK(x == y || x == 1 || y == 1, "matmul: batch sizes do not broadcast: a is {}, b is {}", describe(a), describe(b));
    p.batch_sizes[d] = x == 1 ? y : x;
  }
}

DType common_type(const Call& c) {
  DType a = c[arg::self].dtype(), b = c[arg::other].dtype();
  if (a.is_complex() || b.is_complex()) return promote_types(a, b);
  if (a.is_scaled() || b.is_scaled())
    return a.is_scaled() ? (b.is_floating_point() ? b : f32) : (a.is_floating_point() ? a : f32);
  DY_CHECK_AS(TypeError, a == b, "matmul: dtypes differ: a is {}, b is {}; convert one with .to", describe(c[arg::self]),
              describe(c[arg::other]));
  return a;
}

void infer(Call& c) {
  const Tensor &a = c[arg::self], &b = c[arg::other];
  Product& p = c.plan.make<run_product, Product>();
  set_sizes(p, a, b);
  c.fewer_bits = int(matmul_rounding());
  Spec& o = c.spec[0];
  o.dtype = common_type(c);
  o.device = a.device();
  o.shape({p.batch_sizes, size_t(p.batch_dims)});
  if (a.dim() > 1) o.sizes[o.ndim++] = p.m;
  if (b.dim() > 1) o.sizes[o.ndim++] = p.n;
}
void plan(Call& c) {
  Product& p = c.plan.parameters<Product>();
  const DType type = gemm_type(c.spec[0].dtype);
  p.a = {c.operand(arg::self), type, Side::left};
  p.b = {c.operand(arg::other), type, Side::right};
  for (int d = 0; d < p.batch_dims; ++d) {
    p.a_steps[d] = p.a.batch_step(p.batch_dims - d + 2);
    p.b_steps[d] = p.b.batch_step(p.batch_dims - d + 2);
  }
  const bool row = p.a.given.ndim == 1, column = p.b.given.ndim == 1;
  plan_product(c, p, {row ? 0 : p.a.step(2), p.a.step(1), column ? p.b.step(1) : p.b.step(2), column ? 1 : p.b.step(1)});
}
double flops(const Call& c) {
  return (c.spec[0].dtype.is_complex() ? 8.0 : 2.0) * double(c.spec[0].numel()) * double(c[arg::self].size(-1));
}

// dA = G B^H, dB = A^H G, batch dimensions that were broadcast are summed by the engine.
void backward(Grad& g) {
  bool va = g.in_meta(arg::self).ndim == 1, vb = g.in_meta(arg::other).ndim == 1;
  auto set = [&](int i, const Tensor& r) {
    g.set(i, r.dtype().is_complex() && !g.in_meta(i).dtype.is_complex() ? real(r) : r);
  };
  Tensor d = g.g();
  if (va) d = unsqueeze(d, vb ? -1 : -2);
  if (vb) d = unsqueeze(d, -1);
  if (g.needs(arg::self)) {
    Tensor b = vb ? unsqueeze(g.in(arg::other), 1) : g.in(arg::other);
    Tensor r = matmul(d, adjoint(b));
    set(0, va ? squeeze(r, -2) : r);
  }
  if (g.needs(arg::other)) {
    Tensor a = va ? unsqueeze(g.in(arg::self), 0) : g.in(arg::self);
    if (!vb && !va && g.in_meta(arg::other).ndim == 2 && g.in_meta(arg::self).ndim > 2) {  // one product over all batches
      const int64_t rows = count({a.sizes().data(), a.sizes().size() - 1}), k = a.size(-1), n = d.size(-1);
      return set(1, matmul(adjoint(a.reshape({rows, k})), d.reshape({rows, n})));
    }
    Tensor r = matmul(adjoint(a), d);
    set(1, vb ? squeeze(r, -1) : r);
  }
}

// The matrices of all entries: with dimensions of size 1 between the entries and those of an operand that has fewer.
bool batched(BatchedCall& b) {
  const int64_t da = b.c[arg::self].dim(), db = b.c[arg::other].dim();
  Tensor x = b.given(arg::self), y = b.given(arg::other);
  const bool left = b.is_batched(arg::self), right = b.is_batched(arg::other);
  if (!right && da <= 2 && db <= 2 && (da == 1 || x.is_contiguous())) {  // rows like others
    b.results[0] = da == 1 ? matmul(x, y) : matmul(x.flatten(0, 1), y);
    return true;
  }
  if (!left && db == 1 && da <= 2) {
    b.results[0] = matmul(y, da == 1 ? x : x.t());
    return true;
  }
  if (da == 1) x = unsqueeze(x, -2);
  if (db == 1) y = unsqueeze(y, -1);
  const int64_t n = std::max<int64_t>({da, db, 2}) + 1;
  const auto widened = [n](const Tensor& t) {
    std::vector<int64_t> sizes = t.sizes().vec();
    sizes.insert(sizes.begin() + 1, size_t(n - t.dim()), 1);
    return t.reshape(sizes);
  };
  if (left) x = widened(x);
  if (right) y = widened(y);
  b.results[0] = x.size(-1) == 1 && x.dtype() == y.dtype() && !x.dtype().is_scaled() ? mul(x, y) : matmul(x, y);
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "matmul(Tensor self, Tensor other) -> Tensor",
    .doc =
        "Matrix product over the last two dimensions, batch dimensions broadcast; vectors are rows on the left and columns on "
        "the right. f16 and bf16 are summed in f32 and rounded once. Stored formats (nf4, q4_K ...) are decoded while they are "
        "multiplied.",
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
    .backward = backward,
    .needs = {in(arg::other), in(arg::self)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(arg::self) | in(arg::other)};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::matmul_op
