#include "ops/common.h"

namespace dyadic::inline v1::ops::repeat_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  const IntList repeats = ints_of(a.arg(arg::repeats));
  const size_t n = repeats.size(), have = size_t(t.dim());
  DY_CHECK(n >= have && n <= kMaxDims / 2, "repeat: one number per dimension is needed: self is {}, repeats is {}", describe(t),
           shape_text(repeats));
  std::vector<int64_t> one, all, sizes;
  for (size_t d = 0; d < n; ++d) {
    DY_CHECK(repeats[d] >= 0, "repeat: negative repeats: repeats is {}", shape_text(repeats));
    const int64_t size = d < n - have ? 1 : t.size(int64_t(d - (n - have)));
    one.insert(one.end(), {1, size});
    all.insert(all.end(), {repeats[d], size});
    sizes.push_back(repeats[d] * size);
  }
  return reshape(clone(expand(reshape(t, one), all)), sizes);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "repeat(Tensor self, int[] repeats) -> Tensor",
    .doc = "Copies of self side by side, repeats[d] of them along dimension d; further repeats in front make new dimensions.",
    .kind = OpKind::composite,
    .samples =
        "repeat(randn(2, 3), [2, 2])\n"
        "repeat(randn(3), [2, 1, 2])\n"
        "repeat(randn(2), [0])\n"
        "repeat(randn(), [3])",
    .bad = "repeat(zeros(2, 3), [2]) => repeat: one number per dimension is needed: self is f32[2, 3], repeats is [2]",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::repeat_op
