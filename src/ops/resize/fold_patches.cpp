#include "corridor/batching.h"
#include "loops/pointwise.h"
#include "ops/resize/unfold.h"

namespace dyadic::inline v1::ops::fold_patches_op {
namespace {

// Summed in f64 for f64, else in f32.
DType wide(const Call& c) { return c[arg::input].dtype() == f64 ? f64 : f32; }
Patches arguments(const Call& c) {
  const Tensor& x = c[arg::input];
  int64_t kernel[2], size[2];
  spread("col2im", "kernel_size", c[arg::kernel_size], 2, kernel);
  spread("col2im", "output_size", c[arg::output_size], 2, size);
  const int64_t taps = kernel[0] * kernel[1];
  DY_CHECK(x.dim() == 3 && taps > 0 && x.size(1) % taps == 0,
           "col2im: it takes [N, C kernel_size, positions]: input is {}, kernel_size is {}", describe(x),
           shape_text(c[arg::kernel_size]));
  Patches p = patches("col2im", {x.size(0), x.size(1) / taps, size[0], size[1]}, c[arg::kernel_size], c[arg::dilation],
                      c[arg::padding], c[arg::stride]);
  DY_CHECK(x.size(2) == p.count[0] * p.count[1], "col2im: the positions do not fit: input is {}; there are {} x {}",
           describe(x), p.count[0], p.count[1]);
  return p;
}
struct Parameters {
  Patches patches;
  DType columns, wide;
  Operand images;
};
void run(const Parameters& p, const Pointers& at) {
  if (p.images.numel() == 0) return;
  const Array padded = padded_images(p.patches, at.workspace, p.wide), view = patch_view(p.patches, padded);
  const Array columns(view.sizes(), p.columns, at.in[0]);
  for (int64_t i = 0; i < p.patches.kernel[0]; ++i)
    for (int64_t j = 0; j < p.patches.kernel[1]; ++j)  // one tap's places are distinct
      add_elements(view.select(2, i).select(2, j), columns.select(2, i).select(2, j));
  copy_elements(at.output(0, p.images), inner_images(p.patches, padded));
}
void infer(Call& c) {
  check_float("fold", c[arg::input], "input");
  const Patches p = arguments(c);
  c.plan.make<run, Parameters>().patches = p;
  c.spec[0].dtype = plain(c[arg::input]);
  c.spec[0].device = c[arg::input].device();
  c.spec[0].shape({p.batch, p.channels, p.size[0], p.size[1]});
}
void plan(Call& c) {
  Parameters& p = c.plan.parameters<Parameters>();
  p.columns = c[arg::input].dtype(), p.wide = wide(c), p.images = c.result();
  c.plan.workspace = padded_bytes(p.patches, p.wide);
}
void backward(Grad& g) {
  g.set(arg::input, call(Op::unfold_patches_, g.g(), g[arg::kernel_size], g[arg::dilation], g[arg::padding], g[arg::stride]));
}
double flops(const Call& c) { return double(c[arg::input].numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "fold_patches(Tensor input, int[] output_size, int[] kernel_size, int[] dilation, int[] padding, int[] stride) -> "
        "Tensor",
    .doc = "Columns [N, C kernel_size, positions] added where im2col takes them from: images [N, C, output_size].",
    .internal = true,
    .samples =
        "fold_patches(randn(2, 18, 9), [4, 5], [2, 3], [1], [0], [1])\nfold_patches(randn(1, 8, 6), [5, 4], [2], [2], [1], "
        "[2])",
    .bad =
        "fold_patches(zeros(1, 4, 5), [3, 3], [2], [1], [0], [1]) => col2im: the positions do not fit: input is f32[1, 4, 5]; "
        "there "
        "are 2 x 2",
    .infer = infer,
    .backward = backward,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kFirst();

}  // namespace dyadic::inline v1::ops::fold_patches_op
