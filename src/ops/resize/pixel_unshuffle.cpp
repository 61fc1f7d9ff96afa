#include "ops/composite.h"

namespace dyadic::inline v1::ops::pixel_unshuffle_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  const int64_t r = a[arg::downscale_factor], n = x.dim();
  DY_CHECK(n >= 3 && r > 0 && x.size(-2) % r == 0 && x.size(-1) % r == 0,
           "pixel_unshuffle: the sizes are not multiples of downscale_factor: input is {}, downscale_factor is {}", describe(x),
           r);
  std::vector<int64_t> lead(x.sizes().begin(), x.sizes().end() - 3), split = lead, order, merged = lead;
  const int64_t c = x.size(-3), h = x.size(-2) / r, w = x.size(-1) / r, b = n - 3;
  split.insert(split.end(), {c, h, r, w, r});
  for (int64_t d = 0; d < b; ++d) order.push_back(d);
  for (int64_t d : {0, 2, 4, 1, 3}) order.push_back(b + d);
  merged.insert(merged.end(), {c * r * r, h, w});
  return x.reshape(split).permute(order).reshape(merged);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "pixel_unshuffle(Tensor input, int downscale_factor) -> Tensor",
    .doc = "[..., C, H r, W r] becomes [..., C r^2, H, W]: pixel_shuffle undone.",
    .kind = OpKind::composite,
    .samples = "pixel_unshuffle(randn(2, 2, 4, 6), 2)",
    .bad =
        "pixel_unshuffle(zeros(3, 2, 3), 2) => pixel_unshuffle: the sizes are not multiples of downscale_factor: input is "
        "f32[3, 2, 3], downscale_factor is 2",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::pixel_unshuffle_op
