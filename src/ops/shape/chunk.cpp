#include "ops/common.h"

namespace dyadic::inline v1::ops::chunk_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t chunks = a[arg::chunks];
  DY_CHECK(chunks > 0, "chunk: the number of chunks is not positive: chunks is {}", chunks);
  DY_CHECK(t.dim() > 0, "chunk: a 0-d tensor cannot be split");
  const int64_t dim = wrap_dim("chunk", a[arg::dim], t.dim()), n = t.size(dim);
  if (n == 0) return std::vector<Tensor>(size_t(chunks), t);
  return split(t, (n + chunks - 1) / chunks, dim);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
    .doc = "At most so many views of equal size along dim, the last one smaller.",
    .kind = OpKind::composite,
    .samples =
        "chunk(randn(5, 2), 2)\n"
        "chunk(randn(2, 7), 3, 1)",
    .bad = "chunk(zeros(3), 0) => chunk: the number of chunks is not positive: chunks is 0",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::chunk_op
