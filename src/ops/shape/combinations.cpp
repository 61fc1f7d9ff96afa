#include "ops/common.h"

namespace dyadic::inline v1::ops::combinations_op {
namespace {

Tensor compose(const Arg* a) {
  const Tensor& t = *a[0].tensor;

  const int64_t n = t.numel(), r = a[1].integer;
  DY_CHECK(t.dim() == 1, "combinations: needs a 1-d tensor: self is {}", describe(t));
  DY_CHECK(r >= 0, "combinations: negative r: r is {}", r);
  if (r == 0) return empty({0}, plain(t), t.device());
  const int64_t step = a[2].boolean ? 0 : 1;
  std::vector<int64_t> chosen, at(size_t(r), 0);
  for (int64_t k = 0; k < r; ++k) at[size_t(k)] = k * step;
  auto limit = [&](int64_t k) { return n - 1 - (r - 1 - k) * step; };
  while (limit(0) >= at[0]) {
    chosen.insert(chosen.end(), at.begin(), at.end());
    int64_t k = r - 1;
    while (k > 0 && at[size_t(k)] >= limit(k)) --k;
    ++at[size_t(k)];
    for (int64_t j = k + 1; j < r; ++j) at[size_t(j)] = at[size_t(j - 1)] + step;
  }
  const int64_t rows = int64_t(chosen.size()) / r;
  const Tensor index = from_data(chosen.data(), {rows * r}, i64).to(t.device());
  return reshape(index_select(t, 0, index), {rows, r});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    .doc = "All choices of r elements of a 1-d tensor, one per row, in the order of itertools.combinations.",
    .kind = OpKind::composite,
    .samples =
        "combinations(randn(4))\n"
        "combinations(randn(3), 2, True)\n"
        "combinations(randn(2), 3)",
    .bad = "combinations(zeros(2, 2)) => combinations: needs a 1-d tensor: self is f32[2, 2]",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::combinations_op
