#include "ops/common.h"

namespace dyadic::inline v1::ops::tile_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  std::vector<int64_t> repeats = ints_of(a.arg(arg::dims)).vec();
  while (int64_t(repeats.size()) < t.dim()) repeats.insert(repeats.begin(), 1);
  return repeat(t, repeats);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "tile(Tensor self, int[] dims) -> Tensor",
    .doc = "repeat as numpy's tile: missing leading numbers are 1.",
    .kind = OpKind::composite,
    .samples =
        "tile(randn(2, 3), [2])\n"
        "tile(randn(3), [2, 2])",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::tile_op
