#include "ops/resize/resample.h"

namespace dyadic::inline v1::ops::interpolate_op {
namespace {

Tensor compose(Args a) { return interpolated(a); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "interpolate(Tensor input, int[]? size=None, float? scale_factor=None, str mode='nearest', bool? align_corners=None, "
        "*, bool antialias=False) -> Tensor",
    .doc =
        "[N, C, sizes ...] at other sizes: given ones, or scale_factor times the old. mode: nearest, nearest-exact, linear "
        "(one dimension), bilinear (two), bicubic (two, a = -0.75), trilinear (three), area (means). align_corners: the corner "
        "elements keep their values, else positions are those of pixels. antialias: results between fewer elements than before "
        "are means over all of them, by filters as wide (bilinear and bicubic).",
    .kind = OpKind::composite,
    .samples =
        "interpolate(randn(1, 2, 5), [3])\n"
        "interpolate(randn(1, 2, 5), None, 2.0, 'linear')\n"
        "interpolate(randn(1, 2, 3, 4), [5, 6], None, 'bilinear', True)\n"
        "interpolate(randn(1, 1, 4, 3), [3, 7], None, 'bicubic')\n"
        "interpolate(randn(1, 1, 2, 3, 2), None, 1.5, 'trilinear')\n"
        "interpolate(randn(1, 2, 5), [3], None, 'area')\n"
        "interpolate(randn(1, 1, 5), [7], None, 'nearest-exact')\n"
        "interpolate(randn(1, 2, 9, 7), [4, 3], None, 'bilinear', None, True)\n"
        "interpolate(randn(1, 1, 5, 8), None, 0.6, 'bilinear', None, True)\n"
        "interpolate(randn(1, 1, 9, 3), [2, 5], None, 'bicubic', None, True)",
    .bad =
        "interpolate(zeros(1, 1, 3), [2], None, 'bilinear') => interpolate: bilinear does not go with the input: input is "
        "f32[1, 1, 3]\n"
        "interpolate(zeros(1, 1, 3)) => interpolate: one of size and scale_factor is needed\n"
        "interpolate(zeros(1, 1, 3), [2], None, 'linear', None, True) => interpolate: antialias does not go with linear; it is "
        "for bilinear and bicubic",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::interpolate_op
