#include "ops/common.h"
#include "ops/demand.h"

namespace dyadic::inline v1::ops::normal_op {
namespace {

Tensor compose(Args a) {
  const Tensor &mean = a[arg::mean], &std = a[arg::std];
  const std::vector<Tensor> both = broadcast_tensors(std::vector<Tensor>{mean.detach(), std.detach()});
  const DType d = promote_types(plain(mean), plain(std));
  DY_CHECK_AS(TypeError, d.is_floating_point(), "normal: only floating-point dtypes: mean is {}, std is {}", describe(mean),
              describe(std));
  const NoGrad guard;
  demand_all("normal", ge(std, 0),
             [&] { return fmt::format("normal: a standard deviation is negative, or NaN: std is {}", describe(std)); });
  return add(both[0], mul(both[1], randn(both[0].sizes(), d, mean.device())));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "normal(Tensor mean, Tensor std) -> Tensor",
    .doc = "Normal numbers, each with its own mean and standard deviation; the shapes broadcast. No gradient.",
    .kind = OpKind::composite,
    .samples = "normal(randn(2, 3), rand(3))\nnormal(randn(), rand(2))",
    .bad = "normal(indices(3; 2), indices(3; 2)) => normal: only floating-point dtypes: mean is i64[2], std is i64[2]",
    .skip =
        "cost: drawing numbers counts as bytes\n"
        "gradcheck: a draw has no gradient\n"
        "double_backward: it has no first one",
    .compose = compose,
    .random = true,
};

}  // namespace dyadic::inline v1::ops::normal_op
