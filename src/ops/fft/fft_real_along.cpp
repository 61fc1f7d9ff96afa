#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_real_along_op {
namespace {

constexpr const char* kName = "fft.real_along";

FftShape shape(const Call& c) {
  return {false, true, false, c[arg::self].size(wrap_dim(kName, c[arg::dim], c[arg::self].dim())), c[arg::scale]};
}
void infer(Call& c) {
  DY_CHECK_AS(IndexError, c[arg::self].dim() > 0, "{}: a 0-d tensor has no dimension to transform: self is {}", kName,
              describe(c[arg::self]));
  infer_fft(c, kName, shape(c), c[arg::dim]);
}
void plan(Call& c) { plan_fft(c, shape(c), c[arg::dim]); }
double flops(const Call& c) { return fft_flops(c, shape(c)); }

// The real part of the inverse transform of the half spectrum, zeros in its other half.
void backward(Grad& g) {
  const Meta& m = g.in_meta(arg::self);
  const int64_t dim = wrap_dim(kName, g[arg::dim], m.ndim);
  g.set(arg::self, real(call(Op::fft_along_, resized(kName, g.g(), dim, m.sizes[dim]), dim, true, g[arg::scale])));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_real_along(Tensor self, int dim, float scale) -> Tensor",
    .doc =
        "scale * sum_j x_j exp(-2 pi i j k / n) along dim of real numbers for k = 0 ... n / 2, the others being their "
        "conjugates: what rfft and its kin call.",
    .amp = Amp::f32,
    .internal = true,
    .samples =
        "fft_real_along(randn(2, 8), -1, 1.0)\n"
        "fft_real_along(randn(5, 3), 0, 0.5)\n"
        "fft_real_along(randn(2, 7, 2), 1, 1.0)\n"
        "fft_real_along(randn(1), 0, 1.0)\n"
        "fft_real_along(randn(0, 4), 1, 1.0)",
    .bad = "fft_real_along(zeros(), 0, 1.0) => fft.real_along: a 0-d tensor has no dimension to transform: self is f32[]",
    .infer = infer,
    .backward = backward,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::fft_real_along_op
