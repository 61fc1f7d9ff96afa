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
  // kPlain: it is a T and aligned.
  template <bool kPlain = false> __device__ __forceinline__ void read(const Held& h, int64_t run, int n) {
    if constexpr (kPlain) return read_bytes<N * sizeof(T)>(r, h.at + run * N * int64_t(sizeof(T)));
    const char* at = h.at + run * N * h.bytes;
    if constexpr (N == 1)
      r.part[0] = n > 0 ? read_single(at, h.bytes) : 0;
    else
      h.aligned ? read_whole(r, at, h.bytes) : read_some(r, at, h.bytes, n);
  }
  template <bool kPlain = false> __device__ __forceinline__ void values(const Held& h, T (&x)[N]) const {
    if constexpr (kPlain)
      __builtin_memcpy(x, r.part, sizeof(x));
    else
      decode(r, h.code, x);
  }
  template <bool kPlain = false>
  static __device__ __forceinline__ void write(const Held& h, int64_t run, int n, const T (&x)[N]) {
    StoredRun<N> r;
    if constexpr (kPlain) {
      __builtin_memcpy(r.part, x, sizeof(x));
      return write_as<uint32_t>(r, h.at + run * N * int64_t(sizeof(T)), n);
    }
    encode(r, h.code, x);
    write_some(r, h.at + run * N * h.bytes, h.bytes, n, h.aligned);
  }
};
template <int N> struct HeldRun<double, N> {
  double v[N];
  template <bool = false> __device__ __forceinline__ void read(const Held& h, int64_t run, int n) {
    DY_UNROLL
    for (int i = 0; i < N; ++i) v[i] = i < n ? reinterpret_cast<const double*>(h.at)[run * N + i] : 0;
  }
  template <bool = false> __device__ __forceinline__ void values(const Held&, double (&x)[N]) const {
    DY_UNROLL
    for (int i = 0; i < N; ++i) x[i] = v[i];
  }
  template <bool = false>
  static __device__ __forceinline__ void write(const Held& h, int64_t run, int n, const double (&x)[N]) {
    DY_UNROLL
    for (int i = 0; i < N; ++i)
      if (i < n) reinterpret_cast<double*>(h.at)[run * N + i] = x[i];
  }
};

}  // namespace dyadic::gpu
