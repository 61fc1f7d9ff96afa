#include "ops/fft/window.h"

namespace dyadic::inline v1::ops::bartlett_window_op {
namespace {

Tensor compose(Args a) {
  const WindowCall w("bartlett_window", a, 2);
  return w.made([&](const Tensor& x) { return sub(1, abs(sub(mul(x, 2), 1))); });
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "bartlett_window(int window_length, bool periodic=True, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "1 - |2 k / n - 1|. periodic: the first window_length values of the symmetric window that is one longer.",
    .kind = OpKind::composite,
    .samples =
        "bartlett_window(6)\n"
        "bartlett_window(5, False)\n"
        "bartlett_window(1)\n"
        "bartlett_window(0)",
    .bad = "bartlett_window(-1) => bartlett_window: a negative length: window_length is -1",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::bartlett_window_op
