#include "ops/common.h"

namespace dyadic::inline v1::ops::aminmax_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t dim = !a.has(arg::dim) ? 0 : a[arg::dim];
  const IntList dims = !a.has(arg::dim) ? IntList() : IntList(&dim, 1);
  Arg args[] = {t, dims, a[arg::keepdim]};
  Tensor out[2];
  call_op(Op::extremes_, args, 3, out);
  return {out[0], out[1]};
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    .doc = "The smallest and the largest element of dim, or of all without it; NaN if there is one.",
    .kind = OpKind::composite,
    .samples =
        "aminmax(randn(3, 4))\n"
        "aminmax(randn(3, 4), 1, True)",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::aminmax_op
