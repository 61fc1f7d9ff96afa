#include "ops/composite.h"

namespace dyadic::inline v1::ops::affine_grid_op {
namespace {

// The positions of n elements from -1 to 1: of the outer centers, or of the outer edges.
Tensor positions(int64_t n, bool align, const Tensor& like) {
  if (n == 1) return zeros({1}, like.dtype(), like.device());
  const double reach = align ? 1 : double(n - 1) / double(n);
  return to(linspace(-reach, reach, n, f64, like.device()), like.dtype());
}

Tensor compose(Args a) {
  const Tensor& theta = a[arg::theta];
  check_float("affine_grid", theta, "theta");
  const IntList size = a[arg::size];
  const int64_t rank = int64_t(size.size()) - 2;
  DY_CHECK((rank == 2 || rank == 3) && theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == rank &&
               theta.size(2) == rank + 1,
           "affine_grid: sizes do not fit: theta is {}, size is {}; they are [N, 2, 3] and [N, C, H, W], or [N, 3, 4] and [N, "
           "C, D, H, W]",
           describe(theta), shape_text(size));
  for (int64_t n : size) DY_CHECK_AS(ValueError, n > 0, "affine_grid: a size is not positive: size is {}", shape_text(size));
  const bool align = a.has(arg::align_corners) && a[arg::align_corners];
  const bool narrow = compute_type(plain(theta)) == Compute::f32;  // rounded once
  const Tensor t = narrow ? to(theta, f32) : theta;
  std::vector<int64_t> places(size.begin() + 2, size.end()), shape = {size[0]};
  std::vector<Tensor> axes;  // x, y (, z), 1
  for (int64_t axis = 0; axis < rank; ++axis) {
    std::vector<int64_t> own(size_t(rank), 1);
    own[size_t(rank - 1 - axis)] = -1;
    axes.push_back(positions(size[size.size() - 1 - size_t(axis)], align, t).reshape(own).expand(places));
  }
  axes.push_back(ones(places, t.dtype(), t.device()));
  shape.insert(shape.end(), places.begin(), places.end());
  shape.push_back(rank);
  const Tensor base = stack(axes, -1).reshape({-1, rank + 1});
  return to(matmul(base, transpose(t, 1, 2)).reshape(shape), plain(theta));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "affine_grid(Tensor theta, int[] size, bool? align_corners=None) -> Tensor",
    .doc =
        "Where affine maps theta [N, 2, 3] (or [N, 3, 4]) put the elements of images [N, C, H, W] (volumes [N, C, D, H, W]) of "
        "that size: a grid for grid_sample, [N, H, W, 2] ([N, D, H, W, 3]). align_corners: -1 and 1 are the centers of the "
        "outer elements, else their outer edges.",
    .kind = OpKind::composite,
    .samples =
        "affine_grid(randn(2, 2, 3), [2, 1, 3, 4])\n"
        "affine_grid(randn(1, 2, 3), [1, 2, 1, 5], True)\n"
        "affine_grid(randn(2, 3, 4), [2, 3, 2, 3, 4], False)",
    .bad =
        "affine_grid(zeros(2, 2, 3), [1, 1, 3, 4]) => affine_grid: sizes do not fit: theta is f32[2, 2, 3], size is [1, 1, 3, "
        "4]; they are [N, 2, 3] and [N, C, H, W], or [N, 3, 4] and [N, C, D, H, W]\n"
        "affine_grid(zeros(1, 2, 3), [1, 1, 0, 4]) => affine_grid: a size is not positive: size is [1, 1, 0, 4]",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::affine_grid_op
