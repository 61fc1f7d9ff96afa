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
  Axis a{wrap_dim("resample_backward", c.integer(1), x.dim()), {}};
  for (int64_t d = 0; d < a.dim; ++d) a.shape.outer *= x.size(d);
  for (int64_t d = a.dim + 1; d < x.dim(); ++d) a.shape.inner *= x.size(d);
  a.shape.out = x.size(a.dim), a.shape.in = c.integer(2);
  a.shape.width = window_width(c.ints(3), a.shape.in, a.shape.out);
  return a;
}
void infer(Call& c) {
  check_float("resample_backward", c.tensor(0), "grad");
  DY_CHECK(c.tensor(0).dim() > 0 && c.ints(3).size() > 0, "resample_backward: no axis or no map: grad is {}, map is {}",
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
  resample_kernel().backward(s, {x.impl()->data(), x.dtype().format()}, {c.out[0].impl()->data(), c.out[0].dtype().format()},
                             static_cast<char*>(c.workspace) + tables(s));
}
void backward(Grad& g) {
  const Meta& m = g.in_meta(0);
  const int64_t dim = wrap_dim("resample_backward", g.integer(1), m.ndim);
  g.set(0, call(Op::resample_, g.g(), dim, m.sizes[dim], g.ints(3), g.real(4)));
}
double flops(const Call& c) {
  const ResampleShape s = axis(c).shape;
  return 2.0 * double(s.outer * s.inner) * double(s.out * s.width);
}

}  // namespace

extern constexpr OpDef resample_backward_op = {
    .sig = "resample_backward(Tensor grad, int dim, int size, int[] map, float scale=0) -> Tensor",
    .doc = "The transpose of resample: a gradient along dim carried to `size` elements.",
    .samples =
        "resample_backward(randn(2, 7, 3), 1, 5, [2, 0])\nresample_backward(randn(2, 3), -1, 5, [3, "
        "0])\nresample_backward(randn(2, 3, 2), 1, 5, [4, 3, 2, 1, 1, 0])\nresample_backward(randn(2, 3), 1, 7, [5])",
    .bad = "resample_backward(zeros(2), 0, 3, []) => resample_backward: no axis or no map: grad is f32[2], map is []",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops
