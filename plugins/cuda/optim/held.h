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
// Run `run` of N elements, of which there are n; those behind are anything. In two steps, so that the loads of several arrays
// are under way together.
template <class T, int N> struct HeldRun {
  StoredRun<N> r;
  __device__ __forceinline__ void read(const Held& h, int64_t run, int n) {
    const char* at = h.at + run * N * h.bytes;
    h.aligned ? read_whole(r, at, h.bytes) : read_some(r, at, h.bytes, n);
  }
  __device__ __forceinline__ void values(const Held& h, T (&x)[N]) const { decode(r, h.code, x); }
  static __device__ __forceinline__ void write(const Held& h, int64_t run, int n, const T (&x)[N]) {
    StoredRun<N> r;
    encode(r, h.code, x);
    write_some(r, h.at + run * N * h.bytes, h.bytes, n, h.aligned);
  }
};
template <int N> struct HeldRun<double, N> {
  double v[N];
  __device__ __forceinline__ void read(const Held& h, int64_t run, int n) {
    DY_UNROLL
    for (int i = 0; i < N; ++i) v[i] = i < n ? reinterpret_cast<const double*>(h.at)[run * N + i] : 0;
  }
  __device__ __forceinline__ void values(const Held&, double (&x)[N]) const {
    DY_UNROLL
    for (int i = 0; i < N; ++i) x[i] = v[i];
  }
  static __device__ __forceinline__ void write(const Held& h, int64_t run, int n, const double (&x)[N]) {
    DY_UNROLL
    for (int i = 0; i < N; ++i)
      if (i < n) reinterpret_cast<double*>(h.at)[run * N + i] = x[i];
  }
};

}  // namespace dyadic::gpu
