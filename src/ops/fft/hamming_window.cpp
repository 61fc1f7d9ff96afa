#include "ops/fft/window.h"

namespace dyadic::inline v1::ops::hamming_window_op {
namespace {

Tensor compose(Args a) {
  const WindowCall w("hamming_window", a, 4);
  return w.made([&](const Tensor& x) { return sub(a[arg::alpha], mul(cos(mul(x, 2 * std::numbers::pi)), a[arg::beta])); });
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "hamming_window(int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, *, ScalarType? dtype=None, "
        "Device? device=None) -> Tensor",
    .doc = "alpha - beta cos(2 pi k / n). periodic: the first window_length values of the symmetric window that is one longer.",
    .kind = OpKind::composite,
    .samples =
        "hamming_window(6)\n"
        "hamming_window(5, False)\n"
        "hamming_window(1)\n"
        "hamming_window(0)\n"
        "hamming_window(6, True, 0.5, 0.4)",
    .bad = "hamming_window(-1) => hamming_window: a negative length: window_length is -1",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::hamming_window_op
