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
  const Tensor &self = c[arg::self], &index = c[arg::index];
  const int64_t dim = wrap_dim(c.name, c[arg::dim], self.dim());
  check_index_shape(c, index, self, "self", dim);
  check_same_type(c, self, c[arg::src], "src");
  check_index_shape(c, index, c[arg::src], "src", -1);
  DY_CHECK_AS(TypeError, read_how(c[arg::reduce]) != How::mean || self.dtype() != boolean,
              "scatter_reduce: truth values have no mean: self is {}", describe(self));
  infer_like_first(c);
}
double flops(const Call& c) { return double(c[arg::index].numel()); }
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
void put(const Array& t, const IndexedLoop& like, Scalar value) {
  alignas(16) char stored[16];
  encode_number(value, t.dtype(), stored);
  IndexedLoop l = like;
  l.plain = {};
  indexed_kernel().write(l, t.at, stored, t.itemsize());
}
template <class T> void divide(const Array& sum, const Array& counts) {
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
struct Parameters {
  How how;
  bool include_self, by_rows;
  Positions positions;
  CombineRows rows;
  IndexedLoop loop;
  Operand self, src, out, sum, terms;  // sum, terms: in the compute type; a mean counts in another like sum
  int64_t terms_at, counts_at;         // in the workspace
};
void run_rows(const Parameters& p, const Pointers& at, Scalar none) {
  alignas(16) char first[16];
  encode_number(none, compute_dtype(p.out.dtype()), first);
  CombineRows rows = p.rows;
  rows.index = static_cast<const int64_t*>(at.in[arg::index.tensor]);
  combine_kernel().rows(rows, kOps[int(p.how)], source(at, 0, p.self.format), source(at, arg::src.tensor, p.src.format),
                        target(at, 0, p.out.format), p.include_self ? nullptr : first, at.workspace);
}
void run_mean(const Parameters& p, const Array& sum, const Array& counts, IndexedLoop loop) {
  alignas(16) char one[16];
  encode_number(1, counts.dtype(), one);
  fill(counts, p.include_self ? 1 : 0);
  loop.plain = {};
  const Compute compute = compute_type(sum.dtype());
  indexed_kernel().combine(loop, IndexedOp::add, compute, counts.at, one);
  compute == Compute::f32   ? divide<float>(sum, counts)
  : compute == Compute::f64 ? divide<double>(sum, counts)
  : compute == Compute::i32 ? divide<int32_t>(sum, counts)
                            : divide<int64_t>(sum, counts);
}
void run(const Parameters& p, const Pointers& at) {
  const void* index = at.in[arg::index.tensor];
  p.positions.check(index);
  if (p.self.numel() == 0) return;
  const Scalar none = begin_with(p.how, p.out.dtype());
  if (p.by_rows) return run_rows(p, at, none);
  char* scratch = static_cast<char*>(at.workspace);
  const Array sum(p.sum, scratch), terms(p.terms, scratch + p.terms_at);
  assign(sum, at.input(arg::self, p.self));
  assign(terms, at.input(arg::src, p.src));
  const IndexedLoop loop = at_positions(p.loop, index);
  if (!p.include_self) put(sum, loop, none);
  indexed_kernel().combine(loop, kOps[int(p.how)], compute_type(sum.dtype()), sum.at, terms.at);
  if (p.how == How::mean) run_mean(p, sum, Array(p.sum, scratch + p.counts_at), loop);
  assign(at.output(0, p.out), sum);
}
void plan(Call& c) {
  const int64_t dim = wrap_dim(c.name, c[arg::dim], c[arg::self].dim());
  Parameters& p = c.plan.make<run, Parameters>();
  p.how = read_how(c[arg::reduce]);
  p.include_self = c[arg::include_self];
  p.positions = positions_along(c, c[arg::index], dim, true);
  p.self = c.operand(arg::self), p.src = c.operand(arg::src), p.out = c.result();
  p.by_rows = p.how != How::mean && combines_rows(c, dim, p.rows);  // means count too
  if (p.by_rows) {
    c.plan.workspace = combine_kernel().workspace(p.rows, {nullptr, p.self.format});
    return;
  }
  const DType compute = compute_dtype(p.out.dtype());
  p.sum = Operand(p.self.sizes(), compute), p.terms = Operand(p.src.sizes(), compute);
  Scratch scratch;
  scratch.take<char>(p.sum.numel() * compute.itemsize());
  p.terms_at = scratch.bytes();
  scratch.take<char>(p.terms.numel() * compute.itemsize());
  p.counts_at = scratch.bytes();
  if (p.how == How::mean) scratch.take<char>(p.sum.numel() * compute.itemsize());
  c.plan.workspace = scratch.bytes();
  p.loop = loop_along(p.sum, p.terms, c.operand(arg::index), dim);
}
void set(Grad& g, const Tensor& self, const Tensor& src) {
  const Tensor index = g.in(arg::index);
  const int64_t dim = g[arg::dim];
  if (g.needs(arg::self)) g.set(arg::self, g[arg::include_self] ? self : scatter_value(self, dim, index, 0));
  if (g.needs(arg::src)) g.set(arg::src, pad_to(src, g.in_meta(arg::src)));
}
void backward(Grad& g) {
  const How how = read_how(g[arg::reduce]);
  const int64_t dim = g[arg::dim];
  const Tensor index = g.in(arg::index);
  if (how == How::sum) return set(g, g.g(), gather(g.g(), dim, index));
  const Meta& m = g.in_meta(arg::self);
  const Tensor self = g.in(arg::self), src = slice_to(g.in(arg::src), index.sizes());
  const Tensor none = zeros(m.shape(), g.g().dtype(), m.device), one = ones(index.sizes(), g.g().dtype(), m.device);
  if (how == How::mean) {
    const Tensor start = g[arg::include_self] ? ones_like(none) : none;
    const Tensor each = div(g.g(), maximum(scatter_add(start, dim, index, one), 1.0));
    return set(g, each, gather(each, dim, index));
  }
  if (how ==
      How::prod) {  // of the other factors: found by division, so that products with a zero have the gradient of its place only
    const Tensor safe = where(eq(src, 0.0), ones_like(src), src), own = where(eq(self, 0.0), ones_like(self), self);
    const Tensor product = call(Op::scatter_reduce_, own, dim, index, safe, std::string_view("prod"), g[arg::include_self]);
    const Tensor src_zero = to(eq(src, 0.0), g.g().dtype()),
                 self_zero = g[arg::include_self] ? to(eq(self, 0.0), g.g().dtype()) : none;
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
  const Tensor count = scatter_add(g[arg::include_self] ? mine : scatter_value(mine, dim, index, 0), dim, index, theirs);
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
    .backward = backward,
    .needs = {in(arg::self) | in(arg::index) | in(arg::src) | out(0), 0,
              in(arg::self) | in(arg::index) | in(arg::src) | out(0)},
    .flops = flops,
    .index = arg::index.at,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::scatter_reduce_op
