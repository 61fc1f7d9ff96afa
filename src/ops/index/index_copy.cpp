#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::index_copy_op {
namespace {

void forward(Call& c) {
  IndexedSource::check(c);
  start_from_self(c);
  const Tensor &out = c.out[0], &source = c.tensor(3);
  indexed_kernel().write(loop_along_1d(out, source, c.tensor(2), IndexedSource::dim(c)), out.impl()->data(),
                         source.impl()->data(), out.dtype().itemsize());
}
void backward(Grad& g) {
  if (g.needs(0)) g.set(0, index_fill(g.g(), g.integer(1), g.in(1), 0));
  if (g.needs(2)) g.set(2, index_select(g.g(), g.integer(1), g.in(1)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    .doc =
        "self with the entries of source written along dim where index (int64, one dimension) says; the last of several "
        "counts.",
    .inplace = true,
    .samples =
        "index_copy(randn(4, 3), 0, indices(4; 2), randn(2, 3))\n"
        "index_copy(randn(2, 5, 2), 1, indices(5; 3), randn(2, 3, 2))\n"
        "index_copy(randn(), 0, indices(1; 1), randn())",
    .bad =
        "index_copy(zeros(2), 0, indices(5; 2), zeros(2)) => index_copy: index out of range: index 4 at position 0; dimension "
        "0 has 2 entries",
    .infer = IndexedSource::infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1), 0, in(1)},
    .dense = true,
    .index = 2,
};

}  // namespace dyadic::inline v1::ops::index_copy_op
