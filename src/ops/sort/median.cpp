#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  const Tensor& t = *a[0].tensor;

  DY_CHECK(t.numel() > 0, "median: nothing to choose from: self is {}", describe(t));
  return reshape(call_all(Op::kth_rows_, reshape(t, {-1}), int64_t(-1))[0], {});
}

}  // namespace

extern constexpr OpDef median_op = {
    .sig = "median(Tensor self) -> Tensor",
    .doc = "The lower median; NaN if there is one, of all elements.",
    .kind = OpKind::composite,
    .samples =
        "median(randn(3, 4))\n"
        "median(randn())",
    .bad = "median(zeros(0)) => median: nothing to choose from: self is f32[0]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
