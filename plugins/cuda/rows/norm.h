// What layer normalization and its gradient know of rows and of the parameters beside them.
#pragma once
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {

struct NormRows {
  int64_t rows, n;
  double eps;
  bool centred;
  bool own_weight, own_bias;  // stored as x is, else in the compute type
  bool aligned = false;
};
template <class T> using Wide = ElementOf<sizeof(T) == 8 ? Code::f64 : Code::f32>;

// Chunk k of a parameter beside a span of row r.
template <class Row, class E, class T>
__device__ __forceinline__ void load_parameter(const void* at, bool own, const NormRows& p, const Span& span, int64_t r, int t,
                                               int k, T (&v)[Row::kEach]) {
  const int64_t first = span.first - r * p.n;
  const bool wide = p.aligned && p.n % kChunk == 0;
  if (std::is_same_v<E, Wide<T>> || own)
    Row::template load_chunk<E>(static_cast<const typename E::Stored*>(at) + first, span, t, k, wide, v, T(0));
  else
    Row::template load_chunk<Wide<T>>(static_cast<const T*>(at) + first, span, t, k, wide, v, T(0));
}

inline constexpr int kLongThreads = 512;  // of a row that is not held

// A parameter as x is stored, or in what is computed in.
inline Usual parameter(const Operand& o, Code x, Room& room) {
  if (!o.defined()) return {};
  return Usual(o, code_of(o.format) == x ? x : x == Code::f64 ? Code::f64 : Code::f32, room);
}

}  // namespace dyadic::gpu
