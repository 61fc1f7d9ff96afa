// The arithmetic of an AdamW step (adamw_kernel.h) on vectors.
#pragma once
#include "base/simd/simd.h"
#include "optim/adamw_kernel.h"

namespace dyadic::DY_ISA::adamw {

using V = Vec<float>;

// The loop's constants; gradients' scale is folded into the last two.
struct Constants {
  float beta1, beta2, decay, decayed, step_size, inverse_root_bias2, eps, grad_to_m, grad_squared_to_v;

  explicit Constants(const AdamwStep& s)
      : beta1(static_cast<float>(s.beta1)),
        beta2(static_cast<float>(s.beta2)),
        decay(static_cast<float>(1 - s.lr * s.weight_decay)),
        decayed(static_cast<float>(s.lr * s.weight_decay)),
        step_size(static_cast<float>(s.lr / s.bias1)),
        inverse_root_bias2(static_cast<float>(1 / __builtin_sqrt(s.bias2))),
        eps(static_cast<float>(s.eps)),
        grad_to_m(static_cast<float>((1 - s.beta1) * s.grad_scale)),
        grad_squared_to_v(static_cast<float>((1 - s.beta2) * s.grad_scale * s.grad_scale)) {}
};

struct Step {
  V m, v, next, moved;
};

DY_INLINE V adam(const Constants& c, V m, V v) { return V(c.step_size) * m / fma(sqrt(v), V(c.inverse_root_bias2), V(c.eps)); }
DY_INLINE V whole_step(const Constants& c, V p, V adam) { return fma(p, V(c.decayed), adam); }

// m and v come multiplied by their betas.
DY_INLINE Step advance(const Constants& c, V g, V p, V m, V v) {
  m = fma(g, V(c.grad_to_m), m);
  v = fma(g * g, V(c.grad_squared_to_v), v);
  const V by = adam(c, m, v);
  return {m, v, V(hn::MulSub(p.v, V(c.decay).v, by.v)), whole_step(c, p, by)};
}

}  // namespace dyadic::DY_ISA::adamw
