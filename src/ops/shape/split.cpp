#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::split_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t size = a[arg::split_size], dim = wrap_dim("split", a[arg::dim], t.dim());
  DY_CHECK(t.dim() > 0, "split: a 0-d tensor cannot be split");
  const int64_t n = t.size(dim);
  DY_CHECK(size > 0 || (size == 0 && n == 0), "split: the size of a part is not positive: split_size is {}", size);
  std::vector<Tensor> parts;
  for (int64_t at = 0; at < n || parts.empty(); at += size) parts.push_back(narrow(t, dim, at, std::min(size, n - at)));
  return one_of_many(std::move(parts));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "split(Tensor self, int split_size, int dim=0) -> Tensor[]",
    .doc = "Views of split_size entries each along dim, the last one smaller if they do not come out even.",
    .kind = OpKind::composite,
    .samples =
        "split(randn(5, 2), 2)\n"
        "split(randn(2, 5), 3, -1)\n"
        "split(randn(0, 3), 2)",
    .bad = "split(zeros(3), 0) => split: the size of a part is not positive: split_size is 0",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::split_op
