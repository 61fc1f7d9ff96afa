// The axes of a maximum's windows, from the arguments of max_pool and adaptive_max_pool.
#pragma once
#include "ops/composite.h"
#include "ops/operands.h"
#include "ops/pool/max_pool_kernel.h"
#include "ops/resize/resample.h"

namespace dyadic::inline v1::ops {

// The last `rank` dimensions of x pooled to `out`.
inline MaxPoolShape max_pool_shape(const Tensor& x, int64_t rank, const int64_t* out) {
  MaxPoolShape s;
  for (int64_t d = 0; d < x.dim() - rank; ++d) s.planes *= x.size(d);
  for (int64_t d = 0; d < rank; ++d) s.in[3 - rank + d] = x.size(x.dim() - rank + d), s.out[3 - rank + d] = out[d];
  return s;
}
struct MaxPoolParameters {
  MaxPoolShape shape;
  const Format *x, *y;
};
inline void run_max_pool(const MaxPoolParameters& p, const Pointers& at) {
  max_pool_kernel().forward(p.shape, {at.in[0], p.x}, {at.out[0], p.y}, static_cast<int64_t*>(at.out[1]), at.workspace);
}
// The plan of a pooling whose tables window(axis, i, &begin, &count) fills.
template <class F> void plan_max_pool(Call& c, MaxPoolShape s, F&& window) {
  auto* at = c.plan.list<int64_t>(size_t(2 * (s.out[0] + s.out[1] + s.out[2])));
  for (int d = 0; d < 3; ++d) {
    int64_t *begin = at, *count = at + s.out[d];
    at += 2 * s.out[d];
    s.begin[d] = begin, s.count[d] = count;
    for (int64_t i = 0; i < s.out[d]; ++i) window(d, i, begin + i, count + i);
  }
  c.plan.workspace = max_pool_kernel().workspace(s, {nullptr, format_of(c, 0)});
  c.plan.set<run_max_pool>(MaxPoolParameters{s, format_of(c, 0), result_format(c)});
}
// Both outputs of a maximum over the last dimensions.
inline void infer_max_pool(Call& c, int64_t rank, const int64_t* out) {
  infer_like_first(c);
  c.spec[1].dtype = i64;
  c.nout = 2;
  for (int64_t d = 0; d < rank; ++d) c.spec[0].sizes[c.spec[0].ndim - rank + d] = out[d];
  c.spec[1].device = c.spec[0].device;
  c.spec[1].shape(c.spec[0].shape());
}
inline void backward_max_pool(Grad& g, int64_t rank) {
  const Meta& m = g.in_meta(0);
  g.set(0, call(Op::max_pool_backward_, g.g(), g.out(1), IntList(m.sizes + m.ndim - rank, size_t(rank))));
}

}  // namespace dyadic::inline v1::ops
