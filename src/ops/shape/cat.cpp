#include <algorithm>

#include "base/parallel.h"
#include "corridor/batching.h"
#include "loops/strided_copy_kernel.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::cat_op {
namespace {

bool is_nothing(IntList sizes) { return sizes.size() == 1 && sizes[0] == 0; }  // [0] joins anything, as in PyTorch

void infer(Call& c) {
  auto list = c[arg::tensors];
  DY_CHECK_AS(ValueError, !list.empty(), "cat: an empty list of tensors");
  size_t some = 0;
  while (some + 1 < list.size() && is_nothing(list[some].sizes())) ++some;
  const Tensor& first = list[some];
  DY_CHECK(first.dim() > 0, "cat: 0-d tensors cannot be joined; use stack");
  int64_t dim = wrap_dim("cat", c[arg::dim], first.dim()), total = 0;
  for (size_t k = 0; k < list.size(); ++k) {
    if (is_nothing(list[k].sizes())) continue;
    bool fits = list[k].dim() == first.dim();
    for (int64_t d = 0; fits && d < first.dim(); ++d) fits = d == dim || list[k].size(d) == first.size(d);
    DY_CHECK(fits, "cat: shapes differ outside dimension {}: tensor {} is {}, tensor {} is {}", dim, some, describe(first), k,
             describe(list[k]));
    total += list[k].size(dim);
  }
  c.spec[0].dtype = result_type(c.args, 1);
  c.spec[0].device = first.device();
  c.spec[0].shape(first.sizes());
  c.spec[0].sizes[dim] = total;
}
constexpr int64_t kPiece =
    128 << 10;  // bytes of the result: they stay in a core's cache until all tensors have written to them

struct Parameters {
  enum class Way : uint8_t { join, pairs, parts } way;
  Operand out;
  int64_t count, dim, cut, step;  // parts: `step` entries of dimension `cut` at a time
  const Operand* list;
};
// One tensor after the other.
void join(const Parameters& p, const Pointers& at) {
  const Array out = at.output(0, p.out);
  int64_t begin = 0;
  for (int64_t k = 0; k < p.count; ++k) {
    const Operand& t = p.list[k];
    if (is_nothing(t.sizes())) continue;
    assign(out.narrow(p.dim, begin, t.size(p.dim)), at.input(int(k), t));
    begin += t.size(p.dim);
  }
}
// The part [begin, begin + n) along `cut` of one tensor after the other.
void join_part(const Parameters& p, const Pointers& at, int64_t begin, int64_t n) {
  const Operand& o = p.out;
  const int64_t width = o.itemsize();
  char* dst = static_cast<char*>(at.out[0]) + begin * o.steps[p.cut] * width;
  for (int64_t k = 0; k < p.count; ++k) {
    const Operand& t = p.list[k];
    if (is_nothing(t.sizes())) continue;
    int64_t sizes[kMaxDims];
    std::copy_n(t.lengths, t.ndim, sizes);
    sizes[p.cut] = n;
    const char* from = static_cast<char*>(at.in[k]) + begin * t.steps[p.cut] * width;
    strided_copy_kernel().copy(dst, o.steps, from, t.steps, sizes, t.ndim, width);
    dst += t.lengths[p.dim] * o.steps[p.dim] * width;
  }
}
void run(const Parameters& p, const Pointers& at) {
  if (p.way == Parameters::Way::join) return join(p, at);
  if (p.way == Parameters::Way::pairs)
    return strided_copy_kernel().interleave(at.out[0], at.in[0], at.in[1], p.out.numel() / 2, p.out.itemsize());
  const int64_t rows = p.out.size(p.cut);
  parallel_for((rows + p.step - 1) / p.step, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) join_part(p, at, i * p.step, std::min(p.step, rows - i * p.step));
  });
}
void plan(Call& c) {
  const auto list = c[arg::tensors];
  Parameters& p = c.plan.make<run, Parameters>();
  p.out = c.result();
  p.count = int64_t(list.size());
  p.dim = wrap_dim("cat", c[arg::dim], p.out.dim());
  Operand* operands = c.plan.list<Operand>(list.size());
  const int64_t bytes = p.out.numel() * p.out.itemsize();
  bool plain = p.dim > 0 && bytes > kPiece;
  for (size_t k = 0; k < list.size(); ++k) {
    operands[k] = Operand(*list[k].impl());
    plain = plain && (is_nothing(list[k].sizes()) || list[k].dtype() == p.out.dtype());
  }
  p.list = operands;
  p.way = plain ? Parameters::Way::parts : Parameters::Way::join;
  if (!plain) return;
  if (p.dim + 1 == p.out.dim() && p.count == 2 && p.out.size(p.dim) == 2 && list[0].size(p.dim) == 1 &&
      list[0].is_contiguous() && list[1].is_contiguous() && p.out.is_contiguous())
    p.way = Parameters::Way::pairs;
  p.cut = std::max_element(p.out.lengths, p.out.lengths + p.dim) - p.out.lengths;
  p.step = std::max<int64_t>(1, p.out.size(p.cut) * kPiece / bytes);
}
void backward(Grad& g) {
  int64_t dim = wrap_dim("cat", g[arg::dim], g.g().dim()), at = 0;
  for (int i = 0; i < g.node.nin; ++i) {
    if (is_nothing(g.in_meta(i).shape())) {
      if (g.needs(i)) g.set(i, zeros({0}, g.g().dtype(), g.g().device()));
      continue;
    }
    int64_t n = g.in_meta(i).sizes[dim];
    if (g.needs(i)) g.set(i, narrow(g.g(), dim, at, n));
    at += n;
  }
}

bool batched(BatchedCall& b) {
  const auto list = b.c[arg::tensors];
  std::vector<Tensor> all;
  for (const Tensor& t : list)
    if (b.c.spec[0].ndim == 1 || !is_nothing(t.sizes())) all.push_back(b.whole(t));
  if (all.empty()) return false;
  const int64_t dim = b.c[arg::dim];
  b.results[0] = dyadic::cat(all, dim + (dim >= 0)).to(b.c.spec[0].dtype);
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "cat(Tensor[] tensors, int dim=0) -> Tensor",
    .doc = "Tensors joined along a dimension; the other sizes are equal.",
    .aliases = "concat concatenate",
    .samples = "cat([randn(2, 3), randn(2, 1)], 1)",
    .bad =
        "cat([zeros(2, 3), zeros(2, 4)], 0) => cat: shapes differ outside dimension 0: tensor 0 is f32[2, 3], tensor 1 is "
        "f32[2, 4]",
    .infer = infer,
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = kAllInputs};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::cat_op
