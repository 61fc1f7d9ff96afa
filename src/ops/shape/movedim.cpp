#include "ops/common.h"

namespace dyadic::inline v1::ops::movedim_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  const IntList from = ints_of(a.arg(arg::source)), to = ints_of(a.arg(arg::destination));
  const int64_t n = t.dim();
  DY_CHECK(from.size() == to.size(), "movedim: source and destination differ in length: {} and {}", shape_text(from),
           shape_text(to));
  int64_t order[kMaxDims], next = 0;
  uint32_t moved = 0, taken = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t s = wrap_dim("movedim", from[i], n), d = wrap_dim("movedim", to[i], n);
    DY_CHECK(!(moved >> s & 1) && !(taken >> d & 1), "movedim: a dimension is named twice: source is {}, destination {}",
             shape_text(from), shape_text(to));
    moved |= 1u << s, taken |= 1u << d;
    order[d] = s;
  }
  for (int64_t d = 0; d < n; ++d) {
    if (taken >> d & 1) continue;
    while (moved >> next & 1) ++next;
    order[d] = next++;
  }
  return permute(t, {order, size_t(n)});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "movedim(Tensor self, int[] source, int[] destination) -> Tensor",
    .doc = "A view with the dimensions `source` moved to the places `destination`; the others keep their order.",
    .aliases = "moveaxis",
    .kind = OpKind::composite,
    .samples =
        "movedim(randn(2, 3, 4), [0], [-1])\n"
        "movedim(randn(2, 3, 4), [2, 0], [0, 1])\n"
        "movedim(randn(), [0], [0])",
    .bad =
        "movedim(zeros(2, 3), [0, 0], [0, 1]) => movedim: a dimension is named twice: source is [0, 0], destination [0, 1]\n"
        "movedim(zeros(2, 3), [0], [0, 1]) => movedim: source and destination differ in length: [0] and [0, 1]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::movedim_op
