#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_ifftshift_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  const std::vector<int64_t> dims = shift_dims("fft.ifftshift", t, a.arg(arg::dim));
  std::vector<int64_t> shifts;
  for (int64_t d : dims) shifts.push_back((t.size(d) + 1) / 2);
  return dims.empty() ? t.clone() : roll(t, shifts, dims);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_ifftshift(Tensor self, int[]? dim=None) -> Tensor",
    .doc = "fftshift undone.",
    .kind = OpKind::composite,
    .samples =
        "fft_ifftshift(randn(5))\n"
        "fft_ifftshift(randn(4, 3))\n"
        "fft_ifftshift(randn(2, 5), [1])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fft_ifftshift_op
