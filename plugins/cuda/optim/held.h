// A dense array that is read and written a run at a time, wherever it begins.
#pragma once
#include "plugins/cuda/pointwise/runs.h"

namespace dyadic::gpu {

// Elements of a thread: 16 bytes of what is computed in.
template <class T> inline constexpr int kStepRun = 16 / sizeof(T);
enum class Kept : uint8_t { plain, dynamic, udynamic };

struct Held {
  char* at = nullptr;
  Code code = Code::none;
  uint8_t bytes = 0;
  Kept kept = Kept::plain;
  bool aligned = true;  // to a run
  int64_t absmax = 0;   // of codes: the bytes from `at` to the scales
  DY_DEVICE float& scale(int64_t block) const { return reinterpret_cast<float*>(at + absmax)[block]; }
};
// Run `run` of N elements, of which there are n; those behind are anything.
template <class T, int N> __device__ __forceinline__ void read_held(const Held& h, int64_t run, int n, T (&x)[N]) {
  const char* at = h.at + run * N * h.bytes;
  if constexpr (sizeof(T) == 4 && N > 1) {
    if (h.aligned) {
      StoredRun<N> r;
      read_whole(r, at, h.bytes);
      return decode(r, h.code, x);
    }
  }
  DY_UNROLL
  for (int i = 0; i < N; ++i) x[i] = i < n ? load_one<T>(h.code, at + i * h.bytes) : T(0);
}
template <class T, int N> __device__ __forceinline__ void write_held(const Held& h, int64_t run, const T (&x)[N], int n) {
  char* at = h.at + run * N * h.bytes;
  if constexpr (sizeof(T) == 4 && N > 1) {
    if (h.aligned) {
      StoredRun<N> r;
      encode(r, h.code, x);
      return write_some(r, at, h.bytes, n);
    }
  }
  DY_UNROLL
  for (int i = 0; i < N; ++i)
    if (i < n) store_one(h.code, at + i * h.bytes, x[i]);
}

}  // namespace dyadic::gpu
