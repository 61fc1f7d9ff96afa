#include <cmath>

#include "ops/common.h"
#include "ops/sort/sorting.h"

namespace dyadic::inline v1::ops::median_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  if (t.numel() == 0) return to(full({}, NAN, f64, t.device()), plain(t));
  return shared_by_ties(t, reshape(call_all(Op::kth_rows_, reshape(t.detach(), {-1}), int64_t(-1))[0], {}));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "median(Tensor self) -> Tensor",
    .doc = "The lower median; NaN if there is one or nothing at all, of all elements.",
    .kind = OpKind::composite,
    .samples =
        "median(randn(3, 4))\n"
        "median(randn())\n"
        "median(zeros(0))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::median_op
