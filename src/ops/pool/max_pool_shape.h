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
inline int64_t table_bytes(const MaxPoolShape& s) { return ((s.out[0] + s.out[1] + s.out[2]) * 16 + 63) / 64 * 64; }
// Fills the tables from window(axis, i, &begin, &count).
template <class F> void fill_tables(MaxPoolShape& s, void* memory, F&& window) {
  auto* at = static_cast<int64_t*>(memory);
  for (int d = 0; d < 3; ++d) {
    int64_t *begin = at, *count = at + s.out[d];
    at += 2 * s.out[d];
    s.begin[d] = begin, s.count[d] = count;
    for (int64_t i = 0; i < s.out[d]; ++i) window(d, i, begin + i, count + i);
  }
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
