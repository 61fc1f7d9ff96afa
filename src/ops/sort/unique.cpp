#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::unique_op {
namespace {

// Integers of a range that is not wider than they are many need no sorting.
bool by_counting(const Tensor& flat, int64_t& low, int64_t& range) {
  if (!flat.dtype().is_integer() || flat.dtype() == u64 || flat.numel() == 0) return false;
  low = amin(flat).item<int64_t>();
  const uint64_t width = uint64_t(amax(flat).item<int64_t>()) - uint64_t(low);  // of all of int64 there are 2^64
  range = int64_t(width + 1);
  return width < uint64_t(std::max<int64_t>(flat.numel(), 1024));
}
std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];
  check_has_values("unique", t);
  NoGrad guard;
  const bool inverse = a[arg::return_inverse], counts = a[arg::return_counts];
  const Tensor flat = reshape(t, {-1}), none = empty({0}, i64, t.device());
  int64_t low, range;
  if (by_counting(flat, low, range)) {
    const Tensor count = call(Op::count_values_, flat, low, range), held = gt(count, 0), at = reshape(nonzero(held), {-1});
    return {to(add(at, low), t.dtype()),
            inverse ? index_select(sub(cumsum(held, 0), 1), 0, sub(to(flat, i64), low)).reshape(t.sizes()) : none,
            counts ? index_select(count, 0, at) : none};
  }
  const ValuesIndices s = sort(flat, 0);
  std::vector<Tensor> r = call_all(Op::unique_consecutive_, s.values, inverse, counts);
  if (inverse) r[1] = reshape(scatter(empty({t.numel()}, i64, t.device()), 0, s.indices, r[1]), t.sizes());
  return r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "unique(Tensor self, bool sorted=True, bool return_inverse=True, bool return_counts=True) -> (Tensor output, Tensor "
        "inverse, Tensor counts)",
    .doc =
        "The different elements in order, for each element of self which of them it is, and how often each occurs. What is "
        "not asked for is empty. The size depends on values.",
    .kind = OpKind::composite,
    .samples =
        "unique(steps(3, 4))\n"
        "unique(steps(7))\n"
        "unique(steps())\n"
        "unique(indices(5; 3, 4))\n"
        "unique(steps(9), True, False, False)\n"
        "unique(steps(0))",
    .skip =
        "torch: PyTorch gives inverse and counts on request only\n"
        "meta: the size depends on values\n"
        "gradcheck: it has none\n"
        "cost: comparisons are counted by no one",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::unique_op
