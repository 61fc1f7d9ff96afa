#include "ops/fft/window.h"

namespace dyadic::inline v1::ops::hann_window_op {
namespace {

Tensor compose(Args a) {
  const WindowCall w("hann_window", a, 2);
  return w.made([&](const Tensor& x) { return sub(0.5, mul(cos(mul(x, 2 * std::numbers::pi)), 0.5)); });
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "hann_window(int window_length, bool periodic=True, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "(1 - cos(2 pi k / n)) / 2. periodic: the first window_length values of the symmetric window that is one longer.",
    .kind = OpKind::composite,
    .samples =
        "hann_window(6)\n"
        "hann_window(5, False)\n"
        "hann_window(1)\n"
        "hann_window(0)",
    .bad = "hann_window(-1) => hann_window: a negative length: window_length is -1",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::hann_window_op
