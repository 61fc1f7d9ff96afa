#include "ops/common.h"

namespace dyadic::inline v1::ops::repeat_interleave_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t repeats = a[arg::repeats];
  DY_CHECK(repeats >= 0, "repeat_interleave: negative repeats: repeats is {}", repeats);
  const Tensor flat = !a.has(arg::dim) ? reshape(t, {-1}) : t.dim() ? t : view(t, {1});
  const int64_t dim = !a.has(arg::dim) ? 0 : wrap_dim("repeat_interleave", a[arg::dim], flat.dim());
  std::vector<int64_t> sizes = flat.sizes().vec(), wide = sizes;
  wide.insert(wide.begin() + dim + 1, repeats);
  sizes[size_t(dim)] *= repeats;
  return reshape(clone(expand(unsqueeze(flat, dim + 1), wide)), sizes);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "repeat_interleave(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor",
    .doc = "Every entry along dim (of the flattened tensor without dim) repeated so many times, one after the other.",
    .kind = OpKind::composite,
    .samples =
        "repeat_interleave(randn(2, 3), 2)\n"
        "repeat_interleave(randn(2, 3), 3, -1)\n"
        "repeat_interleave(randn(), 2)",
    .bad = "repeat_interleave(zeros(2), -1) => repeat_interleave: negative repeats: repeats is -1",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::repeat_interleave_op
