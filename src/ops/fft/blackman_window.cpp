#include "ops/fft/window.h"

namespace dyadic::inline v1::ops::blackman_window_op {
namespace {

Tensor compose(Args a) {
  const WindowCall w("blackman_window", a, 2);
  return w.made([&](const Tensor& x) {
    return add(sub(0.42, mul(cos(mul(x, 2 * std::numbers::pi)), 0.5)), mul(cos(mul(x, 4 * std::numbers::pi)), 0.08));
  });
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "blackman_window(int window_length, bool periodic=True, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc =
        "0.42 - 0.5 cos(2 pi k / n) + 0.08 cos(4 pi k / n). periodic: the first window_length values of the symmetric window "
        "that is one longer.",
    .kind = OpKind::composite,
    .samples =
        "blackman_window(6)\n"
        "blackman_window(5, False)\n"
        "blackman_window(1)\n"
        "blackman_window(0)",
    .bad = "blackman_window(-1) => blackman_window: a negative length: window_length is -1",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::blackman_window_op
