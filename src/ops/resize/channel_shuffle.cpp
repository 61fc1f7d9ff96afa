#include "ops/composite.h"

namespace dyadic::inline v1::ops::channel_shuffle_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  const int64_t g = a[arg::groups];
  DY_CHECK(x.dim() >= 3 && g > 0 && x.size(1) % g == 0,
           "channel_shuffle: the groups do not divide the channels: input is {}, groups is {}", describe(x), g);
  std::vector<int64_t> split = x.sizes().vec();
  split[1] = x.size(1) / g;
  split.insert(split.begin() + 1, g);
  return x.reshape(split).transpose(1, 2).reshape(x.sizes());
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "channel_shuffle(Tensor input, int groups) -> Tensor",
    .doc = "The channels of [N, C, ...] as [groups, C / groups], transposed.",
    .kind = OpKind::composite,
    .samples = "channel_shuffle(randn(2, 6, 3), 2)",
    .bad =
        "channel_shuffle(zeros(1, 3, 2), 2) => channel_shuffle: the groups do not divide the channels: input is f32[1, 3, 2], "
        "groups is 2",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::channel_shuffle_op
