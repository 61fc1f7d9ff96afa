// What the records of the normalizations share: their further results.
#pragma once
#include "ops/operands.h"

namespace dyadic::inline v1::ops {

// Beside the result: mean and rstd of so many rows.
inline void add_statistics(Call& c, int64_t rows) {
  c.nout = 3;
  for (int i = 1; i < 3; ++i) {
    c.spec[i].dtype = c.spec[0].dtype == f64 ? f64 : f32;
    c.spec[i].device = c.spec[0].device;
    c.spec[i].shape({&rows, 1});
  }
}
// Of op(grad, input, weight?, mean, rstd, int, with_bias): gradients of the input and, as wanted, of weight [n] and bias [n].
inline void infer_gradients(Call& c, int64_t n) {
  infer_like_first(c);
  c.spec[0].dtype = plain(c.tensor(1));
  c.nout = 3;
  for (int i = 1; i < 3; ++i) {
    const bool wanted = i == 1 ? c.has(2) : c.boolean(6);
    c.spec[i].dtype = !wanted ? DType() : c.has(2) ? plain(c.tensor(2)) : c.spec[0].dtype;
    c.spec[i].device = c.spec[0].device;
    c.spec[i].shape({&n, 1});
  }
}

}  // namespace dyadic::inline v1::ops
