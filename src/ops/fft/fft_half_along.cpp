#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_half_along_op {
namespace {

constexpr const char* kName = "fft.half_along";

FftShape shape(const Call& c) { return {true, false, true, c[arg::n], c[arg::scale]}; }
void infer(Call& c) { infer_fft(c, kName, shape(c), c[arg::dim]); }
void plan(Call& c) { plan_fft(c, shape(c), c[arg::dim]); }
double flops(const Call& c) { return fft_flops(c, shape(c)); }

// The transform of g; what stands for two conjugates, all but k = 0 and n / 2, counts twice.
void backward(Grad& g) {
  const int64_t dim = wrap_dim(kName, g[arg::dim], g.in_meta(arg::self).ndim), n = g[arg::n];
  const Tensor r = call(Op::fft_real_along_, g.g(), dim, g[arg::scale]);
  std::vector<int64_t> sizes(size_t(r.dim()), 1);
  sizes[size_t(dim)] = n / 2 + 1;
  const Tensor k = arange(0, n / 2 + 1, 1, i64, r.device());
  const Tensor both = to(logical_and(gt(k, 0), lt(mul(k, 2), n)), r.dtype().to_real());
  g.set(arg::self, mul(r, add(both, 1.0).reshape(sizes)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_half_along(Tensor self, int dim, int n, float scale) -> Tensor",
    .doc =
        "The n real numbers scale * sum_k x_k exp(2 pi i j k / n) along dim, x [..., n / 2 + 1] being half of a Hermitian "
        "spectrum, whose imaginary parts at 0 and n / 2 do not count: what irfft and its kin call.",
    .amp = Amp::f32,
    .internal = true,
    .samples =
        "fft_half_along(randn(2, 5; complex), -1, 8, 1.0)\n"
        "fft_half_along(randn(3, 3; complex), 0, 5, 0.5)\n"
        "fft_half_along(randn(2, 4, 2; complex), 1, 7, 1.0)\n"
        "fft_half_along(randn(0, 3; complex), 1, 4, 1.0)",
    .bad = "fft_half_along(randn(4; complex), 0, 4, 1.0) => fft.half_along: the size does not fit: self is c64[4], n is 4",
    .infer = infer,
    .backward = backward,
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::fft_half_along_op
