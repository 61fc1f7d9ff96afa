#include "corridor/batching.h"
#include "loops/pointwise.h"
#include "loops/stored.h"
#include "ops/nn/embedding_kernel.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::embedding_op {
namespace {

void infer(Call& c) {
  const Tensor &w = c[arg::weight], &i = c[arg::indices];
  DY_CHECK(w.dim() == 2, "embedding: the weight is not a matrix: weight is {}", describe(w));
  DY_CHECK_AS(TypeError, i.dtype() == i64, "embedding: indices are int64: indices is {}; convert with .to(i64)", describe(i));
  DY_CHECK(i.dim() < kMaxDims, "embedding: too many dimensions: indices is {}", describe(i));
  c.spec[0].dtype = w.dtype().is_scaled() ? f32 : w.dtype();
  c.spec[0].device = w.device();
  c.spec[0].shape(i.sizes());
  c.spec[0].sizes[c.spec[0].ndim++] = w.size(1);
}
struct Parameters {
  EmbeddingShape shape;
  Operand weight, indices;
  const Format* out;
};
// Of a weight that is stored in blocks, or whose rows are spread out, the rows that are asked for are read and no others.
int64_t read_rows(const Parameters& p, const void* weight, const int64_t* index, void* out) {
  const EmbeddingShape& s = p.shape;
  for (int64_t i = 0; i < s.count; ++i)
    if (uint64_t(index[i]) >= uint64_t(s.rows)) return i;
  const Stored rows{p.weight.format, p.out, p.weight.geometry};
  const int64_t bytes = s.dim * p.out->itemsize();
  parallel_for(s.count, 1 + 4096 / (s.dim + 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      read_stored(rows, weight, p.weight.offset + index[i] * p.weight.stride(0), p.weight.stride(1), s.dim,
                  static_cast<char*>(out) + i * bytes);
  });
  return -1;
}
void run(const Parameters& p, const Pointers& at) {
  const auto* index = static_cast<const int64_t*>(at.in[1]);
  if (!p.indices.dense) {
    copy_elements(Array(p.indices.sizes(), i64, at.workspace), at.input(1, p.indices));
    index = static_cast<const int64_t*>(at.workspace);
  }
  const bool as_it_lies = p.weight.dense && p.weight.format == p.out;
  const int64_t bad = as_it_lies ? embedding_kernel().gather(p.shape, at.in[0], p.out->itemsize(), index, at.out[0])
                                 : read_rows(p, at.in[0], index, at.out[0]);
  DY_CHECK_AS(IndexError, bad < 0, "embedding: index out of range: index {} at position {}; the weight has {} rows", index[bad],
              bad, p.shape.rows);
}
void plan(Call& c) {
  const Parameters p{{c[arg::weight].size(0), c[arg::weight].size(1), c[arg::indices].numel()},
                     c.operand(arg::weight),
                     c.operand(arg::indices),
                     result_format(c)};
  c.plan.workspace = p.indices.dense ? 0 : p.shape.count * 8;
  c.plan.set<run>(p);
}
void backward(Grad& g) {
  g.set(arg::weight, call(Op::embedding_backward_, g.g(), g.in(arg::indices), g.in_meta(arg::weight).sizes[0],
                          g[arg::padding_idx], g[arg::scale_grad_by_freq]));
}

// Tables of their own are read as one array; what an index below 0 would mean there, it does not mean here.
bool batched(BatchedCall& b) {
  if (!b.is_batched(arg::weight)) {
    b.results[0] = embedding(b.c[arg::weight], b.whole(arg::indices));
    return true;
  }
  const Tensor i = b.whole(arg::indices);
  if (i.is_meta() || i.numel() == 0 || amin(every_entry(i)).item<int64_t>() < 0) return false;
  std::vector<int64_t> column(size_t(i.dim()), 1);
  column[0] = b.entries;
  const Tensor both[] = {arange(0, b.entries, 1, i64, i.device()).reshape(column), i};
  const int64_t dims[] = {0, 1};
  b.results[0] = call(Op::index_, b.given(arg::weight), std::span<const Tensor>(both), IntList(dims, 2));
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False) -> Tensor",
    .doc =
        "Rows of weight [rows, dim] by int64 index: the result has the indices' shape with dim behind it. The row "
        "padding_idx gets no gradient. scale_grad_by_freq: a row's gradient is divided by how often it is read. Of a stored "
        "weight (nf4, q4_K ...) those rows alone are decoded.",
    .samples = "embedding(randn(5, 3), indices(5; 2, 4))",
    .bad =
        "embedding(zeros(2, 3), indices(9; 1)) => embedding: index out of range: index 8 at position 0; the weight has 2 rows",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::indices)},
    .index = arg::indices.at,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(0)};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::embedding_op
