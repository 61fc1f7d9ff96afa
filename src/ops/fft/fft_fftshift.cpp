#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_fftshift_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  const std::vector<int64_t> dims = shift_dims("fft.fftshift", t, a.arg(arg::dim));
  std::vector<int64_t> shifts;
  for (int64_t d : dims) shifts.push_back(t.size(d) / 2);
  return dims.empty() ? t.clone() : roll(t, shifts, dims);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_fftshift(Tensor self, int[]? dim=None) -> Tensor",
    .doc = "Frequency 0 moved to the middle of dim (of all dimensions if absent).",
    .kind = OpKind::composite,
    .samples =
        "fft_fftshift(randn(5))\n"
        "fft_fftshift(randn(4, 3))\n"
        "fft_fftshift(randn(2, 5), [1])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fft_fftshift_op
