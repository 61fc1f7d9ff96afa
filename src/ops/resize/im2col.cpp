#include "ops/composite.h"

namespace dyadic::inline v1::ops::im2col_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  DY_CHECK(x.dim() == 3 || x.dim() == 4, "im2col: it takes [N, C, H, W] or [C, H, W]: input is {}", describe(x));
  Tensor r = call(Op::unfold_patches_, x.dim() == 3 ? unsqueeze(x, 0) : x, a[arg::kernel_size], a[arg::dilation],
                  a[arg::padding], a[arg::stride]);
  return x.dim() == 3 ? squeeze(r, 0) : r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "im2col(Tensor input, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1) -> Tensor",
    .doc =
        "The patches of images [N, C, H, W] or [C, H, W] as columns: [N, C kernel_size, positions], zeros beyond the borders.",
    .kind = OpKind::composite,
    .samples =
        "im2col(randn(2, 3, 4, 5), [2, 3])\n"
        "im2col(randn(2, 5, 4), [2], [2], [1], [2])",
    .bad = "im2col(zeros(3), [2]) => im2col: it takes [N, C, H, W] or [C, H, W]: input is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::im2col_op
