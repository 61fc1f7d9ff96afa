#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_along_op {
namespace {

constexpr const char* kName = "fft.along";

FftShape shape(const Call& c) {
  const Tensor& t = c[arg::self];
  const bool real = !t.dtype().is_complex();
  return {c[arg::inverse], real, false, t.size(wrap_dim(kName, c[arg::dim], t.dim())), c[arg::scale], real};
}
void infer(Call& c) {
  DY_CHECK_AS(IndexError, c[arg::self].dim() > 0, "{}: a 0-d tensor has no dimension to transform: self is {}", kName,
              describe(c[arg::self]));
  infer_fft(c, kName, shape(c), c[arg::dim]);
}
void plan(Call& c) { plan_fft(c, shape(c), c[arg::dim]); }
double flops(const Call& c) { return fft_flops(c, shape(c)); }
void backward(Grad& g) {
  const Tensor r = call(Op::fft_along_, g.g(), g[arg::dim], !g[arg::inverse], g[arg::scale]);
  g.set(arg::self, g.in_meta(arg::self).dtype.is_complex() ? r : real(r));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_along(Tensor self, int dim, bool inverse, float scale) -> Tensor",
    .doc =
        "scale * sum_j x_j exp(-2 pi i j k / n) along dim of real or complex numbers (inverse: exp(+...)): what fft and its "
        "kin "
        "call.",
    .amp = Amp::f32,
    .internal = true,
    .samples =
        "fft_along(randn(2, 8; complex), -1, False, 1.0)\n"
        "fft_along(randn(6, 3; complex), 0, True, 0.5)\n"
        "fft_along(randn(2, 7, 2; complex), 1, False, 1.0)\n"
        "fft_along(randn(2, 8), -1, True, 0.5)\n"
        "fft_along(randn(5, 2), 0, False, 1.0)\n"
        "fft_along(randn(0, 4; complex), 1, False, 1.0)",
    .bad =
        "fft_along(zeros(), 0, False, 1.0) => fft.along: a 0-d tensor has no dimension to transform: self is f32[]\n"
        "fft_along(randn(0; complex), 0, False, 1.0) => fft.along: the size does not fit: self is c64[0], n is 0",
    .infer = infer,
    .backward = backward,
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::fft_along_op
