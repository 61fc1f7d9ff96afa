// The default generator: a seed and the number of draws so far. Each random op takes one draw; element i of it is a function of
// (seed, draw, i) alone (base/random.h).
#pragma once
#include "base/random.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops {

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

// Of an op that gives uniform or normal numbers: drawn in f32, of f64 in f64, and rounded once. A normal complex number has
// variance 1.
void plan_draw(Call& c, bool normal);
// Of one that gives integers, drawn in int64: in the result, or in workspace, from which they are then stored.
inline int64_t integer_workspace(const Operand& out) { return out.dtype() == i64 ? 0 : out.count * 8; }
inline int64_t* drawn_integers(const Format* format, const Pointers& at) {
  return static_cast<int64_t*>(format == i64.format() ? at.out[0] : at.workspace);
}
void store_integers(const Format* format, int64_t count, const Pointers& at);

}  // namespace dyadic::inline v1::ops
