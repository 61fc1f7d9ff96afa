#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops::group_norm_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  const int64_t groups = a[arg::num_groups];
  check_float("group_norm", x, "input");
  DY_CHECK(x.dim() >= 2 && groups > 0 && x.size(1) % groups == 0,
           "group_norm: the groups do not divide the channels: input is {}, num_groups is {}", describe(x), groups);
  return normalized_channels("group_norm", x, groups, a.optional(arg::weight), a.optional(arg::bias), a[arg::eps]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
    .doc =
        "(x - mean) / sqrt(variance + eps) over each of num_groups groups of the channels of [N, C, ...], times weight [C] "
        "plus bias [C]. (Wu and He 2018.)",
    .kind = OpKind::composite,
    .samples =
        "group_norm(randn(2, 4, 3), 2, randn(4), randn(4))\n"
        "group_norm(randn(3, 4), 1)\n"
        "group_norm(randn(1, 6, 2, 2), 3, randn(6), None, 0.01)",
    .bad =
        "group_norm(zeros(2, 3), 2) => group_norm: the groups do not divide the channels: input is f32[2, 3], num_groups is 2",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::group_norm_op
