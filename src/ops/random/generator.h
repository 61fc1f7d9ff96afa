// The default generator: a seed and the number of draws so far. Each random op takes one draw; element i of it is a function of
// (seed, draw, i) alone (base/random.h).
#pragma once
#include "base/random.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops {

struct Draw {
  uint64_t seed, stream;
};
Draw next_draw();

inline void check_drawable(const Call& c) {
  const DType d = c.spec[0].dtype;
  DY_CHECK_AS(TypeError, d.is_floating_point() || d.is_complex(), "{}: only floating-point and complex dtypes: dtype is {}",
              c.name, d.name());
}

inline void check_holds_integers(const Call& c, int64_t low, int64_t high) {
  const DType d = c.spec[0].dtype;
  if (!d.is_integer() || d == i64 || d == u64) return;
  const double most = d.format()->def->max, least = d.format()->def->kind == Kind::sint ? -most - 1 : 0;
  DY_CHECK(double(low) >= least && double(high) <= most, "{}: dtype holds no such integers: {} to {} in {}", c.name, low, high,
           d.name());
}

// Fills the output from a source of f32 or f64, through workspace when its dtype is another.
int64_t draw_workspace(const Call& c);
void draw(Call& c, void (*fill32)(uint64_t, uint64_t, int64_t, float*), void (*fill64)(uint64_t, uint64_t, int64_t, double*));
// Fills the output from a source of i64 alike.
inline int64_t integer_workspace(const Call& c) { return c.spec[0].dtype == i64 ? 0 : c.spec[0].numel() * 8; }
template <class F> void draw_integers(Call& c, F&& fill) {
  const Draw d = next_draw();
  const Tensor& out = c.out[0];
  if (out.dtype() == i64) return fill(d, out.data<int64_t>());
  auto* v = static_cast<int64_t*>(c.workspace);
  fill(d, v);
  assign(out, make_over(v, out.sizes(), i64));
}

}  // namespace dyadic::inline v1::ops
