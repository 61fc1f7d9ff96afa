// Values of several threads made one, by trees that depend on nothing but how many threads there are: the same bits each time.
#pragma once
#include "plugins/cuda/elements.h"

namespace dyadic::gpu {

inline constexpr unsigned kWholeWarp = 0xffffffffu;
inline constexpr int kWarp = 32;

// What another lane has: of any value that is copied by its words.
template <class T, class F> __device__ __forceinline__ T by_words(T v, F shuffle) {
  static_assert(sizeof(T) % 4 == 0);
  uint32_t word[sizeof(T) / 4];
  __builtin_memcpy(word, &v, sizeof(T));
  DY_UNROLL
  for (uint32_t& w : word) w = shuffle(w);
  __builtin_memcpy(&v, word, sizeof(T));
  return v;
}
template <class T> __device__ __forceinline__ T shuffle_xor(T v, int by) {
  return by_words(v, [=](uint32_t w) { return __shfl_xor_sync(kWholeWarp, w, by); });
}
template <class T> __device__ __forceinline__ T shuffle_up(T v, int by) {
  return by_words(v, [=](uint32_t w) { return __shfl_up_sync(kWholeWarp, w, unsigned(by)); });
}
template <class T> __device__ __forceinline__ T shuffle_from(T v, int lane) {
  return by_words(v, [=](uint32_t w) { return __shfl_sync(kWholeWarp, w, lane); });
}

// merge(a, b) of the values of kLanes neighbouring lanes, for all of them; a is the lower lanes'.
template <int kLanes, class T, class F> __device__ __forceinline__ T warp_all(T v, F merge) {
  DY_UNROLL
  for (int by = 1; by < kLanes; by *= 2) {
    const T other = shuffle_xor(v, by);
    v = threadIdx.x & unsigned(by) ? merge(other, v) : merge(v, other);
  }
  return v;
}

// The same of kGroup neighbouring threads, a power of two. A group of several warps is a whole block, which has room for one
// value per warp in `shared`; all threads of the block call it. kFresh: what `shared` held has been read, as there was a
// barrier since: a call with other room.
template <int kGroup, bool kFresh = false, class T, class F> __device__ __forceinline__ T group_all(T v, T* shared, F merge) {
  if constexpr (kGroup <= kWarp) {
    return warp_all<kGroup>(v, merge);
  } else {
    v = warp_all<kWarp>(v, merge);
    if constexpr (!kFresh) __syncthreads();
    if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = v;
    __syncthreads();
    return warp_all<kGroup / kWarp>(shared[threadIdx.x % (kGroup / kWarp)], merge);
  }
}
template <int kGroup> inline constexpr int kGroupRoom = kGroup > kWarp ? kGroup / kWarp : 1;  // values in `shared`

struct Plus {
  template <class T> __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
};
struct LargerNumber {  // of numbers: NaN is left out where there is one
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
  __device__ __forceinline__ double operator()(double a, double b) const { return fmax(a, b); }
};
struct Larger {  // NaN left out, unless it comes first
  template <class T> __device__ __forceinline__ T operator()(T a, T b) const { return b > a ? b : a; }
};
template <class T> struct Pair {
  T a, b;
};
struct PlusBoth {
  template <class T> __device__ __forceinline__ Pair<T> operator()(Pair<T> x, Pair<T> y) const {
    return {x.a + y.a, x.b + y.b};
  }
};

// Mean and squared distances from it of n numbers, merged as in Chan, Golub and LeVeque 1979.
struct Moments {
  double n = 0, mean = 0, squares = 0;
};
struct MergeMoments {
  __device__ __forceinline__ Moments operator()(Moments a, Moments b) const {
    if (a.n == 0 || b.n == 0) return a.n == 0 ? b : a;
    const double n = a.n + b.n, apart = b.mean - a.mean;
    const double mean =
        apart - apart == 0 ? a.mean + apart * (b.n / n) : a.mean * (a.n / n) + b.mean * (b.n / n);  // infinities
    return {n, mean, a.squares + b.squares + apart * apart * (a.n * b.n / n)};
  }
};
// From distances to `middle`, which is near the mean: n of them, their sum and that of their squares.
__device__ __forceinline__ Moments moments_about(double middle, double sum, double squares, double n) {
  if (n == 0) return {};
  return {n, middle - middle == 0 ? middle + sum / n : middle, squares - sum * sum / n};  // an infinite mean stays one
}

// A block's results that follow each other, by one barrier each: they have room in turns.
template <int kGroup, class T> struct Rooms {
  T at[2][kGroupRoom<kGroup>];
};
template <int kGroup, class T, class F>
__device__ __forceinline__ T group_all(T v, Rooms<kGroup, T>& rooms, int& turn, F merge) {
  turn ^= 1;
  return group_all<kGroup, true>(v, rooms.at[turn], merge);
}

// The library's functions by one name for both widths.
__device__ __forceinline__ float exp_of(float x) { return expf(x); }
__device__ __forceinline__ double exp_of(double x) { return ::exp(x); }
__device__ __forceinline__ float rsqrt_of(float x) { return 1 / sqrtf(x); }
__device__ __forceinline__ double rsqrt_of(double x) { return 1 / sqrt(x); }
__device__ __forceinline__ float log_of(float x) { return logf(x); }
__device__ __forceinline__ double log_of(double x) { return ::log(x); }
template <class T> inline constexpr T kLowest = T(-__builtin_huge_val());

// exp(x) for results or terms in format E: those of 16 bits need no more than the card's own power of two, to some 2^-22, whose
// results below 2^-126 are 0.
template <class E, class T> __device__ __forceinline__ T exp_as(T x) {
  if constexpr (sizeof(typename E::Stored) == 2) {
    const float power = x * 1.44269504f;
#if __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(power));
    return y;
#else
    return exp2f(power);
#endif
  } else {
    return exp_of(x);
  }
}

// The largest so far and the sum of exponentials relative to it (to 0 while there is only -inf: they are 0, or NaN of NaN).
template <class T> struct Exponentials {
  T top = kLowest<T>;
  double sum = 0;
  __device__ __forceinline__ T shift() const { return top == kLowest<T> ? T(0) : top; }
  __device__ __forceinline__ void raise(T to) {
    if (to > top) {
      sum = sum == 0 ? 0 : sum * double(exp_of(top - to));
      top = to;
    }
  }
};
struct MergeExponentials {
  template <class T> __device__ __forceinline__ Exponentials<T> operator()(Exponentials<T> a, Exponentials<T> b) const {
    const T top = Larger()(a.top, b.top);
    a.raise(top);
    b.raise(top);
    return {top, a.sum + b.sum};
  }
};

}  // namespace dyadic::gpu
