#include "ops/common.h"

namespace dyadic::inline v1::ops::unique_consecutive_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];
  check_has_values("unique_consecutive", t);
  NoGrad guard;
  const Tensor flat = reshape(t, {-1});
  const int64_t n = flat.numel();
  const bool inverse = a[arg::return_inverse], counts = a[arg::return_counts];
  const Device device = t.device();
  const Tensor none = empty({0}, i64, device);
  if (n == 0) return {flat, inverse ? empty(t.sizes(), i64, device) : none, none};
  const Tensor changes[] = {ones({1}, boolean, device), ne(narrow(flat, 0, 1, n - 1), narrow(flat, 0, 0, n - 1))};
  const Tensor starts = cat(changes);
  const Tensor at = reshape(nonzero(starts), {-1}), behind[] = {at, full({1}, n, i64, device)};
  return {index_select(flat, 0, at), inverse ? reshape(sub(cumsum(starts, 0), 1), t.sizes()) : none,
          counts ? diff(cat(behind)) : none};
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "unique_consecutive(Tensor self, bool return_inverse=True, bool return_counts=True) -> (Tensor output, Tensor inverse, "
        "Tensor counts)",
    .doc =
        "The elements of the flattened tensor that differ from the one before, for each element of self which of them it is, "
        "and how often each occurs in a row. What is not asked for is empty.",
    .kind = OpKind::composite,
    .samples =
        "unique_consecutive(steps(3, 4))\n"
        "unique_consecutive(steps(7))\n"
        "unique_consecutive(steps(2, 5), False, False)\n"
        "unique_consecutive(steps(0))",
    .skip =
        "torch: PyTorch gives inverse and counts on request only\n"
        "meta: the size depends on values\n"
        "gradcheck: it has none\n"
        "cost: comparisons are counted by no one",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::unique_consecutive_op
