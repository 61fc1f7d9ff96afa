#include "ops/resize/resample.h"
#include "ops/resize/resample_kernel.h"

namespace dyadic::inline v1::ops {
namespace {

struct Axis {
  int64_t dim;
  ResampleShape shape;
};
Axis axis(const Call& c) {
  const Tensor& x = c.tensor(0);
  Axis a{wrap_dim("resample", c.integer(1), x.dim()), {}};
  for (int64_t d = 0; d < a.dim; ++d) a.shape.outer *= x.size(d);
  for (int64_t d = a.dim + 1; d < x.dim(); ++d) a.shape.inner *= x.size(d);
  a.shape.in = x.size(a.dim), a.shape.out = c.integer(2);
  a.shape.width = window_width(c.ints(3), a.shape.in, a.shape.out);
  return a;
}
void infer(Call& c) {
  check_float("resample", c.tensor(0), "input");
  DY_CHECK(c.tensor(0).dim() > 0 && c.ints(3).size() > 0, "resample: no axis or no map: input is {}, map is {}",
           describe(c.tensor(0)), shape_text(c.ints(3)));
  infer_like_first(c);
  c.spec[0].sizes[axis(c).dim] = c.integer(2);
}
int64_t tables(const ResampleShape& s) { return (window_bytes(s.width, s.out) + 63) / 64 * 64; }
int64_t workspace(const Call& c) {
  const ResampleShape s = axis(c).shape;
  return tables(s) + resample_kernel().workspace(s);
}
void forward(Call& c) {
  ResampleShape s = axis(c).shape;
  const Windows w = make_windows(c.ints(3), s.in, s.out, c.real(4), c.workspace);
  s.begin = w.begin, s.count = w.count, s.weight = w.weight;
  const Tensor& x = c.tensor(0);
  resample_kernel().forward(s, {x.impl()->data(), x.dtype().format()}, {c.out[0].impl()->data(), c.out[0].dtype().format()},
                            static_cast<char*>(c.workspace) + tables(s));
}
void backward(Grad& g) {
  const Meta& m = g.in_meta(0);
  const int64_t dim = wrap_dim("resample", g.integer(1), m.ndim);
  g.set(0, call(Op::resample_backward_, g.g(), dim, m.sizes[dim], g.ints(3), g.real(4)));
}
double flops(const Call& c) {
  const ResampleShape s = axis(c).shape;
  return 2.0 * double(s.outer * s.inner) * double(s.out * s.width);
}

}  // namespace

extern constexpr OpDef resample_op = {
    .sig = "resample(Tensor input, int dim, int size, int[] map, float scale=0) -> Tensor",
    .doc =
        "Sums of a few weighted neighbours along dim, `size` of them: map [0] takes the nearest element, [1] the nearest "
        "exactly, [2, align_corners] interpolates linearly, [3, align_corners] cubically, [4, kernel, stride, before, behind, "
        "divisor] averages windows, [5] parts. scale: elements per result, 0: what the sizes say.",
    .samples =
        "resample(randn(2, 5, 3), 1, 7, [2, 0])\nresample(randn(2, 5), -1, 3, [3, 0])\nresample(randn(5), 0, 9, [2, "
        "1])\nresample(randn(2, 5, 2), 1, 3, [4, 3, 2, 1, 1, 0])\nresample(randn(2, 7), 1, 3, [5])\nresample(randn(2, 7), 1, "
        "3, [0])",
    .bad = "resample(zeros(2), 0, 3, []) => resample: no axis or no map: input is f32[2], map is []",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops
