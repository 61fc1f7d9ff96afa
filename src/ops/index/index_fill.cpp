#include <algorithm>

#include "loops/strided_copy_kernel.h"
#include "ops/expected.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::index_fill_op {
namespace {

int64_t dim_of(const Call& c) { return wrap_dim(c.name, c.integer(1), c.tensor(0).dim()); }
int64_t size_of(const Call& c) { return c.tensor(0).dim() ? c.tensor(0).size(dim_of(c)) : 1; }
void infer(Call& c) {
  const Tensor &self = c.tensor(0), &index = c.tensor(2);
  dim_of(c);
  check_index_type(c, index);
  DY_CHECK_AS(IndexError, index.dim() <= 1, "{}: the index has one dimension: index is {}", c.name, describe(index));
  expect_number(c.name, c.scalar(3), plain(self));
  infer_like_first(c);
}
// Elements behind dim: rows long enough are written once, as they were or filled.
int64_t lanes_of(const Call& c) {
  int64_t n = 1;
  for (int64_t d = dim_of(c) + 1; d < c.tensor(0).dim(); ++d) n *= c.tensor(0).size(d);
  return n;
}
int64_t workspace(const Call& c) { return lanes_of(c) >= 16 ? size_of(c) : 0; }
void forward(Call& c) {
  const Tensor &out = c.out[0], &index = c.tensor(2);
  check_positions(c, index, size_of(c), dim_of(c));
  alignas(16) char stored[16];
  encode_number(c.scalar(3), out.dtype(), stored);
  const int64_t width = out.dtype().itemsize(), lanes = lanes_of(c), size = size_of(c);
  if (lanes < 16 || !out.is_contiguous() || out.impl()->data() == c.impl(0).data()) {
    start_from_self(c);
    return indexed_kernel().write(loop_along_1d(out, Tensor(), index, dim_of(c)), out.impl()->data(), stored, width);
  }
  char *named = static_cast<char*>(c.workspace), *to = out.impl()->data();
  const char* from = c.impl(0).data();
  std::fill_n(named, size, char{0});
  for (int64_t j = 0; j < index.numel(); ++j) named[index.data<int64_t>()[j]] = 1;
  parallel_for(out.numel() / lanes, std::max<int64_t>(1, 16384 / lanes), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      char* here = to + row * lanes * width;
      if (named[row % size])
        strided_copy_kernel().splat(here, stored, lanes, width);
      else
        std::copy_n(from + row * lanes * width, lanes * width, here);
    }
  });
}
void backward(Grad& g) { g.set(0, index_fill(g.g(), g.integer(1), g.in(1), 0)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "index_fill(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    .doc = "self with a number written to the entries of dim that index (int64, one dimension) names.",
    .inplace = true,
    .samples =
        "index_fill(randn(3, 4), 0, indices(3; 2), 1.5)\n"
        "index_fill(randn(2, 3, 4), 1, indices(3; 2), 2)\n"
        "index_fill(randn(2, 3, 20), 1, indices(3; 2), 2)\n"
        "index_fill(randn(), 0, indices(1; 1), 0)",
    .bad =
        "index_fill(zeros(2), 0, indices(5; 2), 1) => index_fill: index out of range: index 4 at position 0; dimension 0 has 2 "
        "entries",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1)},
    .workspace = workspace,
    .dense = true,
    .index = 2,
};

}  // namespace dyadic::inline v1::ops::index_fill_op
