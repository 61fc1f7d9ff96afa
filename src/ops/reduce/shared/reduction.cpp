#include "ops/reduce/reduction.h"

#include <algorithm>
#include <cmath>

#include "loops/pointwise.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops {

uint32_t reduced_dims(const char* who, IntList sizes, const Arg& dim) {
  auto n = int64_t(sizes.size());
  uint32_t all = n ? (1u << n) - 1 : 0;
  if (dim.kind == Arg::Kind::none) return all;
  if (dim.kind == Arg::Kind::integer) return n ? 1u << wrap_dim(who, dim.integer, n) : (wrap_dim(who, dim.integer, n), 0u);
  if (dim.n == 0) return all;
  uint32_t mask = 0;
  for (uint32_t i = 0; i < dim.n; ++i) {
    int64_t d = wrap_dim(who, dim.ints[i], n);
    if (n == 0) continue;
    DY_CHECK(!(mask >> d & 1), "{}: a dimension is named twice: dim is {}", who, shape_text({dim.ints, dim.n}));
    mask |= 1u << d;
  }
  return mask;
}

namespace {

// Whether the dimensions from `first` on are dense and those before step as one: by shape.step elements.
bool lies_in_rows(const Operand& t, int first, ReduceShape& shape) {
  int64_t next = 1, step = -1;  // next: the stride that continues what has been seen
  for (int d = t.ndim - 1; d >= 0; --d) {
    if (t.lengths[d] == 1) continue;
    const bool begins = d < first && step < 0;
    if (begins) step = t.steps[d];
    if (!begins && t.steps[d] != next) return false;
    next = t.steps[d] * t.lengths[d];
  }
  shape.step = step;
  return true;
}

// Whether the dimensions not in the mask are neighbours, with some of it before and after them. Those of size 1 don't count.
bool lies_between(const Operand& t, uint32_t mask, ReduceShape& shape) {
  ReduceShape s;
  int part = 0;  // 0: before them, 1: in them, 2: after them
  for (int d = 0; d < t.ndim; ++d) {
    if (t.lengths[d] == 1) continue;
    const bool goes = mask >> d & 1;
    if (part != 1 && !goes) ++part;
    if (part == 1 && goes) ++part;
    if (part > 2) return false;
    (part == 0 ? s.pieces : part == 1 ? s.outer : s.n) *= t.lengths[d];
  }
  if (part != 2) return false;
  shape = s;
  return true;
}

// How the tensor is read: as it lies, or copied with its dimensions in `order`.
struct Reading {
  ReduceShape shape;
  bool copy = false;
  int order[kMaxDims];
};
Reading plan_reading(const Operand& t, uint32_t mask) {
  Reading r;
  // Dense and the reduced dimensions adjacent: read in place.
  int first = -1, last = -1;
  bool adjacent = true;
  for (int d = 0; d < t.ndim; ++d)
    if (mask >> d & 1) {
      adjacent &= first < 0 || last == d - 1;
      if (first < 0) first = d;
      last = d;
    }
  if (first < 0) first = t.ndim, last = t.ndim - 1;
  for (int d = 0; d < t.ndim; ++d) r.order[d] = d;
  // Where the reduced dimensions are adjacent a strided tensor is read, or else copied, in its own order: the additions are
  // those of a dense one.
  if (adjacent) {
    r.copy = !t.dense && !lies_in_rows(t, first, r.shape);
    for (int d = 0; d < t.ndim; ++d) (d < first ? r.shape.outer : d <= last ? r.shape.n : r.shape.inner) *= t.lengths[d];
    return r;
  }
  // What is kept lies between what goes, as channels do between images and pixels: rows in pieces.
  if (t.count > 0 && lies_between(t, mask, r.shape)) {
    r.copy = !t.dense;
    return r;
  }
  r.copy = true;
  int k = 0;
  for (int d = 0; d < t.ndim; ++d)
    if (!(mask >> d & 1)) r.order[k++] = d, r.shape.outer *= t.lengths[d];
  for (int d = 0; d < t.ndim; ++d)
    if (mask >> d & 1) r.order[k++] = d, r.shape.n *= t.lengths[d];
  return r;
}

struct Reduction {
  ReduceOp op;
  ReduceShape shape;
  const Format *x, *y, *high;  // high: of a second result
  Operand from, dense;         // of a copy
  int64_t copied;              // bytes of it; 0: there is none
};

void run(const Reduction& p, const Pointers& at) {
  const void* data = at.in[0];
  char* workspace = static_cast<char*>(at.workspace);
  if (p.copied) {
    copy_elements(Array(p.dense, static_cast<void*>(workspace)), at.input(0, p.from));
    data = workspace;
    workspace += p.copied;
  }
  reduce_kernel().run(p.op, p.shape, {data, p.x}, target(at, 0, p.y), p.high ? target(at, 1, p.high) : Target{}, workspace);
}
void run_rows(const Reduction& p, const Pointers& at, int64_t begin, int64_t end) {
  const Target high = p.high ? from(target(at, 1, p.high), begin) : Target{};
  reduce_kernel().run(p.op, {end - begin, p.shape.n}, from(source(at, 0, p.x), begin * p.shape.n),
                      from(target(at, 0, p.y), begin), high, nullptr);
}
void run_blocks(const Reduction& p, const Pointers& at, int64_t begin, int64_t end) {
  const int64_t first = begin * kReduceBlock, n = std::min(p.shape.n, end * kReduceBlock) - first;
  reduce_kernel().blocks(p.op, from(source(at, 0, p.x), first), n, static_cast<double*>(at.workspace) + begin);
}
bool finish_blocks(const Reduction& p, const Pointers& at) {
  const double value = reduce_kernel().total(p.op, p.shape.n, static_cast<const double*>(at.workspace));
  convert(*f64.format(), &value, *p.y, at.out[0], 1);
  return !std::isnan(value);
}
// Rows that one piece reads, or all of it as a sum of blocks.
void plan_parts(Plan& plan, const Reduction& p) {
  constexpr int64_t kMostPerRow = 16 * kReduceBlock;
  const ReduceShape& s = p.shape;
  if (p.copied || s.inner != 1 || s.pieces != 1 || s.outer_step() != s.n) return;
  if (s.n <= kMostPerRow) return plan.in_parts<run_rows, nullptr, Reduction>(s.outer, s.n, in(0));
  if (s.outer != 1 || !adds_blocks(p.op) || p.x->def->kind != Kind::floating) return;
  plan.in_parts<run_blocks, finish_blocks, Reduction>((s.n + kReduceBlock - 1) / kReduceBlock, kReduceBlock, in(0));
  plan.parts.workspace = plan.parts.count * int64_t(sizeof(double));
}

}  // namespace

void plan_reduction(Call& c, ReduceOp op) {
  const Operand t = c.operand(0);
  const Reading r = plan_reading(t, reduced_dims(c.name, t.sizes(), c.arg(sum_op::arg::dim)));
  Reduction& p = c.plan.make<run, Reduction>();
  p.op = op;
  p.shape = r.shape;
  p.x = t.format, p.y = result_format(c), p.high = c.nout > 1 ? result_format(c, 1) : nullptr;
  p.copied = 0;
  if (r.copy) {
    int64_t sizes[kMaxDims], strides[kMaxDims];
    for (int d = 0; d < t.ndim; ++d) sizes[d] = t.lengths[r.order[d]], strides[d] = t.steps[r.order[d]];
    p.from = Array(t, static_cast<void*>(nullptr)).view({sizes, size_t(t.ndim)}, {strides, size_t(t.ndim)});
    p.dense = Operand(p.from.sizes(), t.dtype());
    p.copied = (t.count * t.itemsize() + 63) / 64 * 64;
  }
  c.plan.workspace = p.copied + reduce_kernel().workspace(op, p.shape, *p.x);
  plan_parts(c.plan, p);
}

void infer_reduction(Call& c, int keepdim_arg, DType result) {
  const TensorImpl& t = c.impl(0);
  uint32_t mask = reduced_dims(c.name, t.shape(), c.arg(sum_op::arg::dim));
  Spec& s = c.spec[0];
  s.dtype = result;
  s.device = t.device();
  for (int d = 0; d < t.ndim; ++d) {
    if (!(mask >> d & 1))
      s.sizes[s.ndim++] = t.sizes[d];
    else if (c.boolean(keepdim_arg))
      s.sizes[s.ndim++] = 1;
  }
}

void check_comparable(const Call& c, bool index) {
  const TensorImpl& t = c.impl(0);
  uint32_t mask = reduced_dims(c.name, t.shape(), c.arg(sum_op::arg::dim));
  const bool named = c.arg(sum_op::arg::dim).kind == Arg::Kind::integer ||
                     (c.arg(sum_op::arg::dim).kind == Arg::Kind::ints && c.arg(sum_op::arg::dim).n);
  for (int d = 0; d < t.ndim; ++d) {
    if (!(mask >> d & 1) || t.sizes[d] > 0) continue;
    const std::string why = fmt::format("{}: nothing to compare: self is {}", c.name, describe(c.tensor(0)));
    if (named || index) fail<IndexError>("{}", why);
    fail("{}", why);
  }
}

Tensor keep_dims(const Tensor& t, const Meta& input, const Arg& dim) {
  uint32_t mask = reduced_dims("reduction", input.shape(), dim);
  int64_t sizes[kMaxDims];
  for (int d = 0; d < input.ndim; ++d) sizes[d] = mask >> d & 1 ? 1 : input.sizes[d];
  return t.reshape({sizes, input.ndim});
}
Tensor share_among(const Tensor& x, const Tensor& out, const Tensor& grad, const Meta& input, const Arg& dim) {
  // Where there are NaN the result is NaN, and they are what it was taken from.
  const Tensor hit = logical_or(eq(x, keep_dims(out, input, dim)), isnan(x)).to(input.dtype);
  const Tensor count = sum(hit, IntList(dim.ints, dim.kind == Arg::Kind::ints ? dim.n : 0), true);
  return mul(div(keep_dims(grad, input, dim), count), hit);
}
int64_t reduced_count(const Meta& input, const Arg& dim) {
  uint32_t mask = reduced_dims("reduction", input.shape(), dim);
  int64_t n = 1;
  for (int d = 0; d < input.ndim; ++d)
    if (mask >> d & 1) n *= input.sizes[d];
  return n;
}

}  // namespace dyadic::inline v1::ops
