#include <algorithm>

#include "corridor/batching.h"
#include "ops/common.h"
#include "ops/index/batched.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::index_write_op {
namespace {

void infer(Call& c) {
  const IndexedDims d = indexed_dims(c, c[arg::indices], c.arg(arg::dims));
  check_same_type(c, c[arg::self], c[arg::values], "values");
  const std::vector<int64_t> places = d.result_shape(c[arg::self]);
  const Tensor& values = c[arg::values];
  bool fits = size_t(values.dim()) <= places.size();
  for (int64_t k = 1; fits && k <= values.dim(); ++k)
    fits = values.size(-k) == 1 || values.size(-k) == places[places.size() - size_t(k)];
  DY_CHECK(fits, "index_put: the values do not fit: values is {}, the places are {}", describe(values), shape_text(places));
  infer_like_first(c);
}
double flops(const Call& c) { return c[arg::accumulate] ? double(c[arg::values].numel()) : 0; }

struct Parameters {
  IndexedLoop loop;
  Offsets offsets;
  Operand out, self, values;  // values: broadcast to the places
  Operand held, sum;          // values in the compute type, or dense; self in it; undefined where they are used as they lie
  int64_t held_at, sum_at;    // in the workspace
  bool any, accumulate;
};
void run(const Parameters& p, const Pointers& at) {
  char* scratch = static_cast<char*>(at.workspace);
  auto* offsets = reinterpret_cast<int64_t*>(scratch);
  if (p.offsets.count) p.offsets.write(at, offsets);
  const Array out = at.output(0, p.out), target = p.sum.defined() ? Array(p.sum, scratch + p.sum_at) : out;
  p.sum.defined() ? assign(target, at.input(0, p.self)) : start_from_self(at, p.out, p.self);
  if (p.any) {
    const Array given = at.input(arg::values, p.values), held(p.held, scratch + p.held_at);
    if (p.held.defined()) assign(held, given);
    const char* values = p.held.defined() ? held.at : given.at;
    const IndexedLoop loop = at_positions(p.loop, offsets);
    p.accumulate ? indexed_kernel().combine(loop, IndexedOp::add, compute_type(target.dtype()), target.at, values)
                 : indexed_kernel().write(loop, target.at, values, target.itemsize());
  }
  if (p.sum.defined()) assign(out, target);
}
// t as one of `shape`, with steps of 0 where it is broadcast.
Operand expanded(const Operand& t, IntList shape) {
  Array a(t, static_cast<void*>(nullptr));
  int64_t steps[kMaxDims] = {};
  const auto n = int64_t(shape.size());
  for (int64_t k = 1; k <= std::min(n, t.dim()); ++k) steps[n - k] = t.size(-k) == 1 ? 0 : t.stride(-k);
  return a.view(shape, {steps, shape.size()});
}
void plan(Call& c) {
  const IndexedDims d = indexed_dims(c, c[arg::indices], c.arg(arg::dims));
  const std::vector<int64_t> shape = d.result_shape(c[arg::self]);
  const Operand out = c.result(), values = c.operand(arg::values);
  const bool accumulate = c[arg::accumulate];
  const DType stored = out.dtype(), compute = accumulate ? compute_dtype(stored) : stored;
  Parameters& p = c.plan.make<run, Parameters>();
  p.out = out, p.self = c.operand(arg::self);
  p.held = p.sum = Operand();
  p.accumulate = accumulate;
  Scratch scratch;
  scratch.take<int64_t>(d.count());
  const bool one = values.numel() == 1, dense = values.is_contiguous() && values.sizes() == IntList(shape);
  const Operand from = one ? Operand(IntList(), values.dtype()) : values;
  p.held_at = scratch.bytes();
  if (values.dtype() != compute || !(one || dense)) {
    p.held = Operand(one ? IntList() : IntList(shape), compute);
    scratch.take<char>(p.held.numel() * compute.itemsize());
  }
  p.sum_at = scratch.bytes();
  if (stored != compute) {
    p.sum = Operand(p.self.sizes(), compute);
    scratch.take<char>(p.sum.numel() * compute.itemsize());
  }
  c.plan.workspace = scratch.bytes();
  const Operand& target = p.sum.defined() ? p.sum : out;
  p.values = p.held.defined() ? expanded(from, p.held.sizes()) : from;
  const Operand all = expanded(p.held.defined() ? p.held : from, shape);
  p.any = all.numel() && target.numel();
  p.offsets = plan_offsets(c, c[arg::indices], d, target, 2);
  if (p.any) p.loop = loop_at_offsets(target, d.mask, all, d.place, d.ndim);
}
Tensor complex_parts(Args a) { return by_parts(Op::index_write_, a, 5); }
void backward(Grad& g) {
  std::vector<Tensor> indices;
  for (int i = 0; i < int(g.arg(arg::indices).n); ++i) indices.push_back(g.in(2 + i));
  const std::span<const Tensor> all(indices);
  if (g.needs(arg::self) && g[arg::accumulate]) g.set(arg::self, g.g());
  if (g.needs(arg::self) && !g[arg::accumulate])
    g.set(arg::self, call(Op::index_write_, g.g(), zeros({}, g.g().dtype(), g.g().device()), all, g.arg(arg::dims), false));
  if (g.needs(arg::values)) g.set(arg::values, call(Op::index_, g.g(), all, g.arg(arg::dims)));
}

bool batched(BatchedCall& b) {
  return batched_write(b, indexed_dims(b.c, b.c[arg::indices], b.c.arg(arg::dims)), b.c[arg::indices], b.c[arg::values],
                       b.c[arg::accumulate]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "index_write(Tensor self, Tensor values, Tensor[] indices, int[]? dims=None, bool accumulate=False) -> Tensor",
    .doc =
        "self with values (broadcast) written to, or added at, the places that index reads; of several for one place the last "
        "one counts. index_put calls it.",
    .inplace = true,
    .internal = true,
    .samples =
        "index_write(randn(4, 3), randn(2, 3), [indices(4; 2)])\n"
        "index_write(randn(3, 4), randn(), [indices(3; 2, 1), indices(4; 2)], [0, 1], True)\n"
        "index_write(randn(3, 4, 2), randn(5, 2), [indices(4; 5)], [1], True)\n"
        "index_write(randn(3, 4, 2), randn(2, 4), [indices(3; 2), indices(2; 2)], [0, 2])\n"
        "index_write(randn(5, 2), randn(4, 1), [indices(5; 4)], [0])",
    .bad =
        "index_write(zeros(2), zeros(3), [indices(2; 2)]) => index_put: the values do not fit: values is f32[3], the places "
        "are [2]",
    .infer = infer,
    .backward = backward,
    .needs = {kIndices & ~in(arg::values), kIndices & ~in(arg::values)},
    .flops = flops,
    .complex = complex_parts,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::index_write_op
