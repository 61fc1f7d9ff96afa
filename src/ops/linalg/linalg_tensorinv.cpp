#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops::linalg_tensorinv_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::A];
  const int64_t ind = a[arg::ind];
  const char* who = "linalg.tensorinv";
  DY_CHECK(ind > 0, "{}: ind must be positive: ind is {}", who, ind);
  std::vector<int64_t> rows, cols;
  for (int64_t d = 0; d < t.dim(); ++d) (d < ind ? rows : cols).push_back(t.size(d));
  DY_CHECK(count(rows) == count(cols), "{}: no square matrix: the first {} sizes of {} multiply to {}, the others to {}", who,
           ind, describe(t), count(rows), count(cols));
  std::vector<int64_t> sizes = cols;
  sizes.insert(sizes.end(), rows.begin(), rows.end());
  return call(Op::linalg_inv_, t.reshape({count(rows), count(cols)})).reshape(sizes);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_tensorinv(Tensor A, int ind=2) -> Tensor",
    .doc = "The inverse for tensordot: the first ind dimensions of A count as rows, the others as columns.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "linalg_tensorinv(randn(2, 2, 4))\n"
        "linalg_tensorinv(randn(4, 2, 2), 1)",
    .bad =
        "linalg_tensorinv(zeros(2, 3, 4)) => linalg.tensorinv: no square matrix: the first 2 sizes of f32[2, 3, 4] multiply to "
        "6, "
        "the others to 4",
    .skip = "layout_bits: products of the gradient add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_tensorinv_op
