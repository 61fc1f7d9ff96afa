#include <cmath>
#include <limits>

#include "ops/common.h"
#include "ops/index/indexed.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::scatter_reduce_op {
namespace {

enum class How : uint8_t { sum, prod, mean, amax, amin };
How read_how(std::string_view text) {
  constexpr std::string_view kNames[] = {"sum", "prod", "mean", "amax", "amin"};
  for (int i = 0; i < 5; ++i)
    if (text == kNames[i]) return How(i);
  fail<ValueError>("scatter_reduce: unknown reduce \"{}\"; the known ones are sum, prod, mean, amax, amin", text);
}
void infer(Call& c) {
  const Tensor &self = c.tensor(0), &index = c.tensor(2);
  const int64_t dim = wrap_dim(c.name, c.integer(1), self.dim());
  check_index_shape(c, index, self, "self", dim);
  check_same_type(c, self, c.tensor(3), "src");
  check_index_shape(c, index, c.tensor(3), "src", -1);
  DY_CHECK_AS(TypeError, read_how(c.text(4)) != How::mean || self.dtype() != boolean,
              "scatter_reduce: truth values have no mean: self is {}", describe(self));
  infer_like_first(c);
}
// Sums in the compute type, terms, and for means the counts.
struct Held {
  Tensor sum, terms, counts;
};
Held take(const Call& c, Scratch& scratch) {
  const DType compute = compute_dtype(c.out[0].dtype());
  Held h{scratch.tensor(c.tensor(0).sizes(), compute), scratch.tensor(c.tensor(3).sizes(), compute), {}};
  if (read_how(c.text(4)) == How::mean) h.counts = scratch.tensor(c.tensor(0).sizes(), compute);
  return h;
}
int64_t dim_of(const Call& c) { return wrap_dim(c.name, c.integer(1), c.tensor(0).dim()); }
bool by_rows(const Call& c, CombineRows& rows) {  // means count too
  return read_how(c.text(4)) != How::mean && combines_rows(c, dim_of(c), rows);
}
int64_t workspace(const Call& c) {
  CombineRows rows;
  if (by_rows(c, rows)) return combine_kernel().workspace(rows, source_of(c, 0));
  Scratch scratch;
  take(c, scratch);
  return scratch.bytes();
}
double flops(const Call& c) { return double(c.tensor(2).numel()); }
double identity(How how, DType d) {
  const FormatDef& f = *d.format()->def;
  if (how == How::amax)
    return d.is_floating_point() ? -HUGE_VAL
                                 : double(f.kind == Kind::boolean ? 0
                                          : f.kind == Kind::uint  ? 0
                                                                  : -std::ldexp(1.0, f.bits - 1));
  if (how == How::amin) return d.is_floating_point() ? HUGE_VAL : f.kind == Kind::boolean ? 1 : f.max;
  return how == How::prod;
}
Scalar begin_with(How how, DType stored) {
  const double none = identity(how, stored);
  return stored == i64 && how == How::amin ? Scalar(std::numeric_limits<int64_t>::max())
         : stored.is_floating_point()      ? Scalar(none)
                                           : Scalar(int64_t(none));
}
constexpr IndexedOp kOps[] = {IndexedOp::add, IndexedOp::mul, IndexedOp::add, IndexedOp::max, IndexedOp::min};
void put(const Tensor& t, const IndexedLoop& like, Scalar value) {
  alignas(16) char stored[16];
  encode_number(value, t.dtype(), stored);
  IndexedLoop l = like;
  l.plain = {};
  indexed_kernel().write(l, t.impl()->data(), stored, t.dtype().itemsize());
}
template <class T> void divide(const Tensor& sum, const Tensor& counts) {
  T* x = sum.data<T>();
  const T* n = counts.data<T>();
  for (int64_t i = 0; i < sum.numel(); ++i) {
    if (n[i] <= 1) continue;
    if constexpr (std::is_floating_point_v<T>)
      x[i] /= n[i];
    else
      x[i] = x[i] / n[i] - (x[i] % n[i] < 0);  // rounds down, as PyTorch
  }
}
void forward(Call& c) {
  const Tensor &self = c.tensor(0), &index = c.tensor(2);
  const int64_t dim = dim_of(c);
  check_positions(c, index, self.dim() ? self.size(dim) : 1, dim, true);
  const How how = read_how(c.text(4));
  if (self.numel() == 0) return;
  const DType stored = c.out[0].dtype();
  const Scalar none = begin_with(how, stored);
  CombineRows rows;
  if (by_rows(c, rows)) {
    alignas(16) char first[16];
    encode_number(none, compute_dtype(stored), first);
    rows.index = index.data<int64_t>();
    return combine_kernel().rows(rows, kOps[int(how)], source_of(c, 0), source_of(c, 3), target_of(c),
                                 c.boolean(5) ? nullptr : first, c.workspace);
  }
  Scratch scratch(c.workspace);
  const Held h = take(c, scratch);
  assign(h.sum, self);
  if (h.terms.defined()) assign(h.terms, c.tensor(3));
  const Tensor& terms = h.terms.defined() ? h.terms : c.tensor(3);
  const IndexedLoop loop = loop_along(h.sum, terms, index, dim);
  const Compute compute = compute_type(h.sum.dtype());
  if (!c.boolean(5)) put(h.sum, loop, none);
  indexed_kernel().combine(loop, kOps[int(how)], compute, h.sum.impl()->data(), terms.impl()->data());
  if (how == How::mean) {
    alignas(16) char one[16];
    encode_number(1, h.counts.dtype(), one);
    fill(h.counts, c.boolean(5) ? 1 : 0);
    IndexedLoop l = loop;
    l.plain = {};
    indexed_kernel().combine(l, IndexedOp::add, compute, h.counts.impl()->data(), one);
    compute == Compute::f32   ? divide<float>(h.sum, h.counts)
    : compute == Compute::f64 ? divide<double>(h.sum, h.counts)
    : compute == Compute::i32 ? divide<int32_t>(h.sum, h.counts)
                              : divide<int64_t>(h.sum, h.counts);
  }
  assign(c.out[0], h.sum);
}
void set(Grad& g, const Tensor& self, const Tensor& src) {
  const Tensor index = g.in(1);
  const int64_t dim = g.integer(1);
  if (g.needs(0)) g.set(0, g.boolean(5) ? self : scatter_value(self, dim, index, 0));
  if (g.needs(2)) g.set(2, pad_to(src, g.in_meta(2)));
}
void backward(Grad& g) {
  const How how = read_how({g.node.args[4].text, g.node.args[4].n});
  const int64_t dim = g.integer(1);
  const Tensor index = g.in(1);
  if (how == How::sum) return set(g, g.g(), gather(g.g(), dim, index));
  const Meta& m = g.in_meta(0);
  const Tensor self = g.in(0), src = slice_to(g.in(2), index.sizes());
  const Tensor none = zeros(m.shape(), g.g().dtype(), m.device), one = ones(index.sizes(), g.g().dtype(), m.device);
  if (how == How::mean) {
    const Tensor start = g.boolean(5) ? ones_like(none) : none;
    const Tensor each = div(g.g(), maximum(scatter_add(start, dim, index, one), 1.0));
    return set(g, each, gather(each, dim, index));
  }
  if (how ==
      How::prod) {  // of the other factors: found by division, so that products with a zero have the gradient of its place only
    const Tensor safe = where(eq(src, 0.0), ones_like(src), src), own = where(eq(self, 0.0), ones_like(self), self);
    const Tensor product = call(Op::scatter_reduce_, own, dim, index, safe, std::string_view("prod"), g.boolean(5));
    const Tensor src_zero = to(eq(src, 0.0), g.g().dtype()), self_zero = g.boolean(5) ? to(eq(self, 0.0), g.g().dtype()) : none;
    const Tensor count = scatter_add(self_zero, dim, index, src_zero);
    auto others = [&](const Tensor& n, const Tensor& zero, const Tensor& p, const Tensor& x) {
      return where(eq(n, zero), div(p, x), scalar_tensor(0.0));
    };
    const Tensor at_self = where(eq(count, self_zero), div(product, own), scalar_tensor(0.0));
    return set(g, mul(g.g(), at_self),
               mul(gather(g.g(), dim, index), others(gather(count, dim, index), src_zero, gather(product, dim, index), safe)));
  }
  const Tensor out = g.out(), mine = to(eq(self, out), g.g().dtype()),
               theirs = to(eq(src, gather(out, dim, index)), g.g().dtype());
  const Tensor count = scatter_add(g.boolean(5) ? mine : scatter_value(mine, dim, index, 0), dim, index, theirs);
  const Tensor each = div(g.g(), maximum(count, 1.0));
  set(g, mul(each, mine), mul(gather(each, dim, index), theirs));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
    .doc =
        "self combined along dim with the elements of src where index (int64) says: reduce is sum, prod, mean, amax or amin. "
        "Without include_self the places that are named forget what self has there.",
    .inplace = true,
    .low = 0.5,
    .high = 3,
    .samples =
        "scatter_reduce(rand(3, 4), 1, indices(4; 3, 5), rand(3, 5), 'sum')\n"
        "scatter_reduce(rand(3, 4), 0, indices(2; 4, 4), rand(4, 4), 'mean')\n"
        "scatter_reduce(rand(3, 4), 0, indices(2; 4, 4), rand(4, 4), 'amax', False)\n"
        "scatter_reduce(rand(4), 0, indices(3; 5), rand(5), 'prod')\n"
        "scatter_reduce(rand(3, 2), 1, indices(2; 3, 4), rand(3, 4), 'amin')\n"
        "scatter_reduce(rand(3, 2), 1, indices(2; 3, 3), rand(3, 3), 'mean', False)",
    .bad =
        "scatter_reduce(zeros(2), 0, indices(2; 2), zeros(2), 'max') => scatter_reduce: unknown reduce \"max\"; the known ones "
        "are sum, prod, mean, amax, amin",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(0) | in(1) | in(2) | out(0), 0, in(0) | in(1) | in(2) | out(0)},
    .flops = flops,
    .workspace = workspace,
    .dense = true,
    .index = 2,
};

}  // namespace dyadic::inline v1::ops::scatter_reduce_op
