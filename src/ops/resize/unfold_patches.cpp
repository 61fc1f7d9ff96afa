#include "corridor/batching.h"
#include "loops/pointwise.h"
#include "ops/operands.h"
#include "ops/resize/unfold.h"

namespace dyadic::inline v1::ops::unfold_patches_op {
namespace {

Patches arguments(const Call& c) {
  DY_CHECK(c[arg::input].dim() == 4, "im2col: it takes [N, C, H, W]: input is {}", describe(c[arg::input]));
  return patches("im2col", c[arg::input].sizes(), c[arg::kernel_size], c[arg::dilation], c[arg::padding], c[arg::stride]);
}
struct Parameters {
  Patches patches;
  Operand images;
  const Format* out;
};
void run(const Parameters& p, const Pointers& at) {
  const Array padded = padded_images(p.patches, at.workspace, p.images.dtype()), view = patch_view(p.patches, padded);
  if (view.numel() == 0) return;
  copy_elements(inner_images(p.patches, padded), at.input(0, p.images));
  copy_elements(Array(view.sizes(), DType(p.out), at.out[0]), view);
}
void infer(Call& c) {
  const Patches p = arguments(c);
  c.plan.make<run, Parameters>().patches = p;
  c.spec[0].dtype = plain(c[arg::input]);
  c.spec[0].device = c[arg::input].device();
  c.spec[0].shape({p.batch, p.channels * p.kernel[0] * p.kernel[1], p.count[0] * p.count[1]});
}
void plan(Call& c) {
  Parameters& p = c.plan.parameters<Parameters>();
  p.images = c.operand(arg::input), p.out = result_format(c);
  c.plan.workspace = padded_bytes(p.patches, p.images.dtype());
}
void backward(Grad& g) {
  const Meta& m = g.in_meta(arg::input);
  g.set(arg::input, call(Op::fold_patches_, g.g(), IntList(m.sizes + 2, 2), g[arg::kernel_size], g[arg::dilation],
                         g[arg::padding], g[arg::stride]));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "unfold_patches(Tensor input, int[] kernel_size, int[] dilation, int[] padding, int[] stride) -> Tensor",
    .doc = "The patches of [N, C, H, W] as columns: [N, C kernel_size, positions], zeros beyond the borders.",
    .internal = true,
    .samples =
        "unfold_patches(randn(2, 3, 4, 5), [2, 3], [1], [0], [1])\nunfold_patches(randn(1, 2, 5, 4), [2], [2], [1], [2])",
    .bad =
        "unfold_patches(zeros(2, 3), [2], [1], [0], [1]) => im2col: it takes [N, C, H, W]: input is f32[2, 3]\n"
        "unfold_patches(zeros(1, 1, 2, 2), [3], [1], [0], [1]) => im2col: the patch does not fit: the image is [1, 1, 2, 2], "
        "kernel_size is [3], dilation is [1], padding is [0]",
    .infer = infer,
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kFirst();

}  // namespace dyadic::inline v1::ops::unfold_patches_op
