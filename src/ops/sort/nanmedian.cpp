#include <cmath>

#include "ops/common.h"
#include "ops/sort/sorting.h"

namespace dyadic::inline v1::ops::nanmedian_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  if (t.numel() == 0) return to(full({}, NAN, f64, t.device()), plain(t));
  return shared_by_ties(t, reshape(call_all(Op::kth_rows_, reshape(t.detach(), {-1}), int64_t(-2))[0], {}));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "nanmedian(Tensor self) -> Tensor",
    .doc = "The lower median of what is not NaN, of all elements; NaN of nothing.",
    .kind = OpKind::composite,
    .samples =
        "nanmedian(randn(3, 4))\n"
        "nanmedian(randn())\n"
        "nanmedian(zeros(0))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::nanmedian_op
