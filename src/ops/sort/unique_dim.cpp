#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::unique_dim_op {
namespace {

// Whether slice i comes before slice j, or differs from it, as rows of f64 or int64.
template <class T>
std::vector<int64_t> order_of(const T* rows, int64_t n, int64_t width, bool keep, std::vector<bool>& starts) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) order[size_t(i)] = i;
  auto row = [&](int64_t i) { return rows + i * width; };
  if (!keep)
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      return std::lexicographical_compare(row(i), row(i) + width, row(j), row(j) + width);
    });
  for (size_t k = 0; k < order.size(); ++k)
    starts.push_back(k == 0 || !std::equal(row(order[k]), row(order[k]) + width, row(order[k - 1])));
  return order;
}
std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK(t.dim() > 0, "unique_dim: a 0-d tensor has no slices");
  check_has_values("unique_dim", t);
  NoGrad guard;
  const int64_t dim = wrap_dim("unique_dim", a[arg::dim], t.dim()), n = t.size(dim), width = n ? t.numel() / n : 0;
  const bool real = plain(t).is_floating_point();
  const Tensor rows = contiguous(to(movedim(t.to(cpu), {dim}, {0}), real ? f64 : i64));
  std::vector<bool> starts;
  const std::vector<int64_t> order = real ? order_of(rows.data<double>(), n, width, a[arg::consecutive], starts)
                                          : order_of(rows.data<int64_t>(), n, width, a[arg::consecutive], starts);
  std::vector<int64_t> first, inverse(order.size()), counts;
  for (size_t k = 0; k < order.size(); ++k) {
    if (starts[k]) first.push_back(order[k]), counts.push_back(0);
    inverse[size_t(order[k])] = int64_t(first.size()) - 1;
    ++counts.back();
  }
  auto as_tensor = [&](const std::vector<int64_t>& v) { return from_data(v.data(), {int64_t(v.size())}, i64).to(t.device()); };
  return {index_select(t, dim, as_tensor(first)), as_tensor(inverse), as_tensor(counts)};
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "unique_dim(Tensor self, int dim, bool consecutive=False) -> (Tensor output, Tensor inverse, Tensor counts)",
    .doc =
        "The different slices along dim, in order (consecutive: those that differ from the one before), for each slice which "
        "of them it is, and how often each occurs.",
    .kind = OpKind::composite,
    .internal = true,
    .samples =
        "unique_dim(steps(5, 2), 0)\n"
        "unique_dim(steps(2, 7), 1, True)",
    .skip =
        "meta: the size depends on values\n"
        "gradcheck: it has none\n"
        "cost: comparisons are counted by no one",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::unique_dim_op
