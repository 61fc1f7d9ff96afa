#include "ops/fft/window.h"

namespace dyadic::inline v1::ops::kaiser_window_op {
namespace {

Tensor compose(Args a) {
  const WindowCall w("kaiser_window", a, 3);
  return w.made([&](const Tensor& x) {
    return div(i0(mul(sqrt(sub(1, square(sub(mul(x, 2), 1)))), a[arg::beta])), i0(full({}, a[arg::beta], f64, x.device())));
  });
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "kaiser_window(int window_length, bool periodic=True, float beta=12.0, *, ScalarType? dtype=None, Device? device=None) "
        "-> Tensor",
    .doc =
        "I0(beta sqrt(1 - (2 k / n - 1)^2)) / I0(beta). periodic: the first window_length values of the symmetric window that "
        "is one longer.",
    .kind = OpKind::composite,
    .samples =
        "kaiser_window(6)\n"
        "kaiser_window(5, False)\n"
        "kaiser_window(1)\n"
        "kaiser_window(0)\n"
        "kaiser_window(6, True, 3.0)",
    .bad = "kaiser_window(-1) => kaiser_window: a negative length: window_length is -1",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::kaiser_window_op
