#include "loops/pointwise.h"
#include "ops/resize/unfold.h"

namespace dyadic::inline v1::ops::fold_patches_op {
namespace {

// Summed in f64 for f64, else in f32.
DType wide(const Call& c) { return c.tensor(0).dtype() == f64 ? f64 : f32; }
Patches arguments(const Call& c) {
  const Tensor& x = c.tensor(0);
  int64_t kernel[2], size[2];
  spread("col2im", "kernel_size", c.ints(2), 2, kernel);
  spread("col2im", "output_size", c.ints(1), 2, size);
  const int64_t taps = kernel[0] * kernel[1];
  DY_CHECK(x.dim() == 3 && taps > 0 && x.size(1) % taps == 0,
           "col2im: it takes [N, C kernel_size, positions]: input is {}, kernel_size is {}", describe(x),
           shape_text(c.ints(2)));
  Patches p = patches("col2im", {x.size(0), x.size(1) / taps, size[0], size[1]}, c.ints(2), c.ints(3), c.ints(4), c.ints(5));
  DY_CHECK(x.size(2) == p.count[0] * p.count[1], "col2im: the positions do not fit: input is {}; there are {} x {}",
           describe(x), p.count[0], p.count[1]);
  return p;
}
void infer(Call& c) {
  check_float("fold", c.tensor(0), "input");
  const Patches p = arguments(c);
  c.spec[0].dtype = plain(c.tensor(0));
  c.spec[0].device = c.tensor(0).device();
  c.spec[0].shape({p.batch, p.channels, p.size[0], p.size[1]});
}
int64_t workspace(const Call& c) {
  const Patches p = arguments(c);
  return p.batch * p.channels * p.padded(0) * p.padded(1) * wide(c).itemsize();
}
void forward(Call& c) {
  NoGrad guard;
  const Patches p = arguments(c);
  if (c.out[0].numel() == 0) return;
  Tensor images = padded_images(p, c.workspace, wide(c)), view = patch_view(p, images);
  Tensor columns = c.tensor(0).view(view.sizes());
  fill(images, 0);
  PointwiseLoop loop;
  loop.compute = compute_type(wide(c));
  loop.tile = op_def(Op::add_).pw.forward[int(loop.compute)];
  loop.inputs = 2;
  for (int64_t i = 0; i < p.kernel[0]; ++i)
    for (int64_t j = 0; j < p.kernel[1]; ++j) {  // one tap's places are distinct
      Tensor to = select(select(view, 2, i), 2, j), from = select(select(columns, 2, i), 2, j);
      loop.in[0] = &to, loop.in[1] = &from;
      loop.run(to);
    }
  copy_elements(c.out[0], inner_images(p, images));
}
void backward(Grad& g) { g.set(0, call(Op::unfold_patches_, g.g(), g.ints(2), g.ints(3), g.ints(4), g.ints(5))); }
double flops(const Call& c) { return double(c.tensor(0).numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "fold_patches(Tensor input, int[] output_size, int[] kernel_size, int[] dilation, int[] padding, int[] stride) -> "
        "Tensor",
    .doc = "Columns [N, C kernel_size, positions] added where im2col takes them from: images [N, C, output_size].",
    .samples =
        "fold_patches(randn(2, 18, 9), [4, 5], [2, 3], [1], [0], [1])\nfold_patches(randn(1, 8, 6), [5, 4], [2], [2], [1], "
        "[2])",
    .bad =
        "fold_patches(zeros(1, 4, 5), [3, 3], [2], [1], [0], [1]) => col2im: the positions do not fit: input is f32[1, 4, 5]; "
        "there "
        "are 2 x 2",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::fold_patches_op
