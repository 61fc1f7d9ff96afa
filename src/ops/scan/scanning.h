// What the running reductions share: their shape and dtype rules.
#pragma once
#include "ops/along.h"
#include "ops/operands.h"
#include "ops/reduce/reduction.h"
#include "ops/scan/scan_kernel.h"

namespace dyadic::inline v1::ops {

// Of op(self, dim, ...): [outer, n, inner] around dim.
inline ScanShape scan_shape(const Call& c) {
  const AlongDim along(c.name, c.impl(cumsum_op::arg::self).shape(), c[cumsum_op::arg::dim]);
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
struct Scan {
  ScanOp op;
  ScanShape shape;
  const Format *x, *y;
};
inline Scan scan_of(const Call& c, ScanOp op) { return {op, scan_shape(c), format_of(c, 0), result_format(c)}; }
inline void run_scan(const Scan& p, const Pointers& at) {
  scan_kernel().run(p.op, p.shape, source(at, 0, p.x), target(at, 0, p.y), at.workspace);
}
inline void run_extremes(const Scan& p, const Pointers& at) {
  scan_kernel().extremes(p.op, p.shape, source(at, 0, p.x), target(at, 0, p.y), static_cast<int64_t*>(at.out[1]));
}
template <ScanOp op> void plan_scan(Call& c) {
  const Scan p = scan_of(c, op);
  c.plan.workspace = scan_kernel().workspace(op, p.shape);
  c.plan.set<run_scan>(p);
}

// cummax and cummin: values and where they are.
template <ScanOp op> struct RunningExtreme {
  static void infer(Call& c) {
    infer_scan(c, -1);
    c.spec[0].dtype = plain(c[cumsum_op::arg::self]);
    c.spec[1] = c.spec[0];
    c.spec[1].dtype = i64;
    c.nout = 2;
  }
  static void plan(Call& c) { c.plan.set<run_extremes>(scan_of(c, op)); }
  static void backward(Grad& g) {
    const Meta& m = g.in_meta(cumsum_op::arg::self);
    g.set(cumsum_op::arg::self,
          scatter_add(zeros(m.shape(), g.g().dtype(), m.device), g[cumsum_op::arg::dim], g.out(1), g.g()));
  }
};

}  // namespace dyadic::inline v1::ops
