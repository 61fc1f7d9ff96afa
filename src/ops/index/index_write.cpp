#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::index_write_op {
namespace {

void infer(Call& c) {
  const IndexedDims d = indexed_dims(c, c.tensors(2), c.args[3]);
  check_same_type(c, c.tensor(0), c.tensor(1), "values");
  const std::vector<int64_t> places = d.result_shape(c.tensor(0));
  const Tensor& values = c.tensor(1);
  bool fits = size_t(values.dim()) <= places.size();
  for (int64_t k = 1; fits && k <= values.dim(); ++k)
    fits = values.size(-k) == 1 || values.size(-k) == places[places.size() - size_t(k)];
  DY_CHECK(fits, "index_put: the values do not fit: values is {}, the places are {}", describe(values), shape_text(places));
  infer_like_first(c);
}
struct Held {
  int64_t* offsets;
  Tensor values, sum;
};
Held take(const Call& c, const IndexedDims& d, Scratch& scratch) {
  const Tensor& values = c.tensor(1);
  const std::vector<int64_t> shape = d.result_shape(c.tensor(0));
  const DType stored = c.out[0].dtype(), compute = c.boolean(4) ? compute_dtype(stored) : stored;
  Held h;
  h.offsets = scratch.take<int64_t>(d.count());
  const bool spread = values.numel() == 1, dense = values.is_contiguous() && values.sizes() == IntList(shape);
  if (values.dtype() != compute || !(spread || dense)) h.values = scratch.tensor(spread ? IntList() : IntList(shape), compute);
  if (stored != compute) h.sum = scratch.tensor(c.tensor(0).sizes(), compute);
  return h;
}
int64_t workspace(const Call& c) {
  Scratch scratch;
  take(c, indexed_dims(c, c.tensors(2), c.args[3]), scratch);
  return scratch.bytes();
}
double flops(const Call& c) { return c.boolean(4) ? double(c.tensor(1).numel()) : 0; }
void forward(Call& c) {
  NoGrad guard;
  const Tensor& out = c.out[0];
  const IndexedDims d = indexed_dims(c, c.tensors(2), c.args[3]);
  const std::vector<int64_t> shape = d.result_shape(c.tensor(0));
  Scratch scratch(c.workspace);
  const Held h = take(c, d, scratch);
  const Tensor target = h.sum.defined() ? h.sum : out;
  if (d.count()) write_offsets(c, target, c.tensors(2), d, h.offsets);
  h.sum.defined() ? assign(h.sum, c.tensor(0)) : start_from_self(c);
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  if (n && target.numel()) {
    Tensor values = c.tensor(1).detach();
    if (values.numel() == 1) values = values.reshape({});
    if (h.values.defined()) assign(h.values, values), values = h.values;
    const Tensor all = expand(values, shape);
    const IndexedLoop loop = loop_at_offsets(target, d.mask, all, d.place, d.ndim, h.offsets);
    if (c.boolean(4))
      indexed_kernel().combine(loop, IndexedOp::add, compute_type(target.dtype()), target.impl()->data(), all.impl()->data());
    else
      indexed_kernel().write(loop, target.impl()->data(), all.impl()->data(), target.dtype().itemsize());
  }
  if (h.sum.defined()) assign(out, h.sum);
}
Tensor complex_parts(const Arg* a) { return by_parts(Op::index_write_, a, 5); }
void backward(Grad& g) {
  std::vector<Tensor> indices;
  for (int i = 0; i < int(g.node.args[2].n); ++i) indices.push_back(g.in(2 + i));
  const std::span<const Tensor> all(indices);
  if (g.needs(0) && g.boolean(4)) g.set(0, g.g());
  if (g.needs(0) && !g.boolean(4))
    g.set(0, call(Op::index_write_, g.g(), zeros({}, g.g().dtype(), g.g().device()), all, g.node.args[3], false));
  if (g.needs(1)) g.set(1, call(Op::index_, g.g(), all, g.node.args[3]));
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
    .forward = forward,
    .backward = backward,
    .needs = {kIndices & ~in(1), kIndices & ~in(1)},
    .flops = flops,
    .workspace = workspace,
    .complex = complex_parts,
};

}  // namespace dyadic::inline v1::ops::index_write_op
