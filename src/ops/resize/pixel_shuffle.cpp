#include "ops/composite.h"

namespace dyadic::inline v1::ops::pixel_shuffle_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  const int64_t r = a[arg::upscale_factor], n = x.dim();
  DY_CHECK(n >= 3 && r > 0 && r <= std::max<int64_t>(x.size(-3), 1) && x.size(-3) % (r * r) == 0,
           "pixel_shuffle: the channels are not a multiple of upscale_factor^2: input is {}, upscale_factor is {}", describe(x),
           r);
  std::vector<int64_t> lead(x.sizes().begin(), x.sizes().end() - 3), split = lead, order, merged = lead;
  const int64_t c = x.size(-3) / (r * r), h = x.size(-2), w = x.size(-1), b = n - 3;
  split.insert(split.end(), {c, r, r, h, w});
  for (int64_t d = 0; d < b; ++d) order.push_back(d);
  for (int64_t d : {0, 3, 1, 4, 2}) order.push_back(b + d);
  merged.insert(merged.end(), {c, h * r, w * r});
  return x.reshape(split).permute(order).reshape(merged);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "pixel_shuffle(Tensor input, int upscale_factor) -> Tensor",
    .doc = "[..., C r^2, H, W] becomes [..., C, H r, W r]. (Shi et al. 2016.)",
    .kind = OpKind::composite,
    .samples =
        "pixel_shuffle(randn(2, 8, 2, 3), 2)\n"
        "pixel_shuffle(randn(9, 2, 1), 3)",
    .bad =
        "pixel_shuffle(zeros(3, 2, 2), 2) => pixel_shuffle: the channels are not a multiple of upscale_factor^2: input is "
        "f32[3, 2, 2], upscale_factor is 2",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::pixel_shuffle_op
