#include "ops/composite.h"

namespace dyadic::inline v1::ops::col2im_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  DY_CHECK(x.dim() == 2 || x.dim() == 3, "col2im: it takes [N, C kernel_size, positions]: input is {}, kernel_size is {}",
           describe(x), shape_text(a[arg::kernel_size]));
  Tensor r = call(Op::fold_patches_, x.dim() == 2 ? unsqueeze(x, 0) : x, a[arg::output_size], a[arg::kernel_size],
                  a[arg::dilation], a[arg::padding], a[arg::stride]);
  return x.dim() == 2 ? squeeze(r, 0) : r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "col2im(Tensor input, int[] output_size, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1) -> "
        "Tensor",
    .doc = "Columns [N, C kernel_size, positions] or [C kernel_size, positions] added where im2col takes them from.",
    .kind = OpKind::composite,
    .samples =
        "col2im(randn(2, 18, 9), [4, 5], [2, 3])\n"
        "col2im(randn(8, 6), [5, 4], [2], [2], [1], [2])",
    .bad = "col2im(zeros(3), [2], [2]) => col2im: it takes [N, C kernel_size, positions]: input is f32[3], kernel_size is [2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::col2im_op
