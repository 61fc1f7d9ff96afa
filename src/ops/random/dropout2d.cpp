#include "ops/random/masks.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* args) {
  const Frame a(args);
  const Tensor& x = a.tensor(0);
  const double p = a.real(1);
  DY_CHECK_AS(ValueError, p >= 0 && p <= 1, "dropout2d: p is not a probability: p is {}", p);
  check_float("dropout2d", x, "input");
  DY_CHECK(x.dim() == 3 || x.dim() == 4, "dropout2d: the input has 3 or 4 dimensions: input is {}", describe(x));
  return a.boolean(2) ? masked_channels(x, p, x.dim() - 2) : x;
}

}  // namespace

extern constexpr OpDef dropout2d_op = {
    .sig = "dropout2d(Tensor input, float p=0.5, bool training=True) -> Tensor",
    .doc =
        "In training whole channels of [N, C, sizes ...] or [C, sizes ...] are zeroed with probability p and the others scaled "
        "by 1 / (1 - p).",
    .kind = OpKind::composite,
    .samples =
        "dropout2d(randn(2, 2, 2, 2), 0.5, False)\n"
        "dropout2d(randn(3, 3, 3), 0.3)",
    .bad = "dropout2d(zeros(2), 0.5) => dropout2d: the input has 3 or 4 dimensions: input is f32[2]",
    .compose = compose,
    .random = true,
};

}  // namespace dyadic::inline v1::ops
