// What the running reductions share: their shape and dtype rules.
#pragma once
#include "ops/along.h"
#include "ops/operands.h"
#include "ops/reduce/reduction.h"
#include "ops/scan/scan_kernel.h"

namespace dyadic::inline v1::ops {

// Of op(self, dim, ...): [outer, n, inner] around dim.
inline ScanShape scan_shape(const Call& c) {
  const AlongDim along(c.name, c.impl(0).shape(), c.integer(1));
  return {along.outer, along.n, along.inner};
}
// dtype_arg: where a dtype may be given; integers become int64 without one. -1: the input's.
inline void infer_scan(Call& c, int dtype_arg) {
  infer_like_first(c);
  scan_shape(c);
  if (dtype_arg >= 0)
    c.spec[0].dtype = c.has(dtype_arg) ? c.dtype(dtype_arg) : c.spec[0].dtype.is_floating_point() ? c.spec[0].dtype : i64;
  DY_CHECK_AS(TypeError, !c.spec[0].dtype.is_scaled(), "{}: the result's dtype has scales: dtype is {}", c.name,
              c.spec[0].dtype.name());
}
inline int64_t scan_workspace(const Call& c, ScanOp op) { return scan_kernel().workspace(op, scan_shape(c)); }
inline void run_scan(Call& c, ScanOp op) {
  scan_kernel().run(op, scan_shape(c), source_of(c.tensor(0)), target_of(c.out[0]), c.workspace);
}

// cummax and cummin: values and where they are.
template <ScanOp op> struct RunningExtreme {
  static void infer(Call& c) {
    infer_scan(c, -1);
    c.spec[0].dtype = plain(c.tensor(0));
    c.spec[1] = c.spec[0];
    c.spec[1].dtype = i64;
    c.nout = 2;
  }
  static void forward(Call& c) {
    scan_kernel().extremes(op, scan_shape(c), source_of(c.tensor(0)), target_of(c.out[0]), c.out[1].data<int64_t>());
  }
  static void backward(Grad& g) {
    const Meta& m = g.in_meta(0);
    g.set(0, scatter_add(zeros(m.shape(), g.g().dtype(), m.device), g.integer(1), g.out(1), g.g()));
  }
};

}  // namespace dyadic::inline v1::ops
