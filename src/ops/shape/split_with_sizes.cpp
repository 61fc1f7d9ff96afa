#include "ops/common.h"

namespace dyadic::inline v1::ops::split_with_sizes_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];

  const IntList sizes = ints_of(a.arg(arg::split_sizes));
  const int64_t dim = wrap_dim("split", a[arg::dim], t.dim());
  DY_CHECK(t.dim() > 0, "split: a 0-d tensor cannot be split");
  int64_t total = 0;
  for (int64_t n : sizes) {
    DY_CHECK(n >= 0, "split: negative size: split_size is {}", shape_text(sizes));
    total += n;
  }
  DY_CHECK(total == t.size(dim), "split: the sizes do not sum to the dimension: they sum to {}, dimension {} of {} is {}",
           total, dim, describe(t), t.size(dim));
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int64_t n : sizes) parts.push_back(narrow(t, dim, at, n)), at += n;
  return one_of_many(std::move(parts));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "split.with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
    .doc = "Views of the given sizes along dim, which they add up to.",
    .kind = OpKind::composite,
    .samples =
        "split_with_sizes(randn(5, 2), [1, 4])\n"
        "split_with_sizes(randn(2, 5), [2, 0, 3], 1)",
    .bad =
        "split_with_sizes(zeros(3), [1, 1]) => split: the sizes do not sum to the dimension: they sum to 2, dimension 0 of "
        "f32[3] is 3",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::split_with_sizes_op
