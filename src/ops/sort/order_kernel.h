// Order within rows on keys: unsigned numbers in the order of the values, NaN last and both zeros equal. What passes over a
// whole row goes a vector at a time; long rows are cut into pieces for threads.
#pragma once
#include "base/parallel.h"
#include "formats/format.h"

namespace dyadic::inline v1 {

inline constexpr int64_t kLongRow = 1 << 17, kRowPieces = 16;  // one long row is cut into so many pieces

// How a format's values become keys.
struct Keys {
  const Format* format;
  int bytes;       // of a key that differ at all, the upper ones of floats: bf16 and f8 have 16 bits as f32, f16 has 19
  bool ascending;  // else inverted
};

template <class K> struct KeyKernel {
  // n keys of a run of stored elements.
  void (*make)(const Keys& k, const void* x, int64_t n, K* keys);
  // The k-th smallest key, counted from 0. spare: room for n keys.
  K (*kth)(const K* keys, int64_t n, int64_t k, K* spare);
  int64_t (*count_below)(const K* keys, int64_t n, K limit);
  // Where the k-th of those that equal `key` is.
  int64_t (*find)(const K* keys, int64_t n, K key, int64_t k);
  // The keys that are not above the limit, in order, and their places; returns how many. Both have room for n.
  int64_t (*up_to)(const K* keys, int64_t n, K limit, K* kept, K* places);
};
struct OrderKernel {
  KeyKernel<uint32_t> narrow;
  KeyKernel<uint64_t> wide;
};

}  // namespace dyadic::inline v1

DY_KERNEL(OrderKernel, order_kernel)
