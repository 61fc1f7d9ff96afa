// CUDA's words for a C++ compiler: what stands in front of functions and variables, vectors, places in the grid, collectives,
// atomics and intrinsics. Only what nvcc takes is offered here, with nvcc's types, so that what compiles here compiles there.
//
// Note [Simulated blocks]: the blocks of a grid run one after the other, in some order, and the threads of a block in turns:
// each until it ends or reaches a collective. So a thread that waits for another by reading memory over and over never ends
// here, and what
// `__shared__` names is a plain static variable.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>  // before __noinline__, a word of its own
#include <tuple>
#include <type_traits>

#include "plugins/cuda/sim/vectors.h"

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static
#define __constant__ static __attribute__((unused))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define DY_DEVICE inline __attribute__((always_inline))
#define DY_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::dyadic::gpu::sim::dynamic_shared())

// The thread that runs.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace dyadic::gpu::sim {

struct Launch {
  int64_t blocks;
  int y, z, threads;
  int64_t shared;
  const void* kernel;
};
void enqueue(const Launch& launch, std::function<void()> thread);  // on the current stream

void* dynamic_shared();
enum class Barrier : uint8_t { sync, any, all, count };
int barrier(Barrier kind, int flag);  // of a block
// Of the lanes that `mask` names: each gives a value and takes that of lane `from`, or (ballot) a bit per lane whose value is
// not 0.
enum class Meeting : uint8_t { sync, shuffle, ballot };
uint64_t meet(Meeting kind, unsigned mask, uint64_t value, int from);
// The values of all 32 lanes, each of which gives one: for what the tensor cores do. They stand until the next exchange but
// one.
inline constexpr size_t kMaxExchanged = 64;
const void* exchange(const void* mine, size_t bytes);
template <class T> const T* exchange(const T& mine) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMaxExchanged);
  return static_cast<const T*>(exchange(&mine, sizeof(T)));
}
unsigned active_mask();
int lane();
[[noreturn]] void trap();

template <class T> T shuffle(unsigned mask, T value, int from) {
  static_assert(sizeof(T) <= 8);
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  word = meet(Meeting::shuffle, mask, word, from);
  std::memcpy(&value, &word, sizeof(T));
  return value;
}
inline int first_lane(int width) { return lane() & -width; }

template <class T>
constexpr bool is_shuffled = std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, long> ||
                             std::is_same_v<T, unsigned long> || std::is_same_v<T, long long> ||
                             std::is_same_v<T, unsigned long long> || std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
constexpr bool is_atomic = std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>;
template <class T> constexpr bool is_word = is_atomic<T> || std::is_same_v<T, long long>;
template <class T> using same = std::type_identity_t<T>;

template <class T, class F> T replace(T* at, F&& f) {
  const T old = *at;
  *at = f(old);
  return old;
}

}  // namespace dyadic::gpu::sim

// Collectives.
inline void __syncthreads() { dyadic::gpu::sim::barrier(dyadic::gpu::sim::Barrier::sync, 0); }
inline int __syncthreads_or(int flag) { return dyadic::gpu::sim::barrier(dyadic::gpu::sim::Barrier::any, flag); }
inline int __syncthreads_and(int flag) { return dyadic::gpu::sim::barrier(dyadic::gpu::sim::Barrier::all, flag); }
inline int __syncthreads_count(int flag) { return dyadic::gpu::sim::barrier(dyadic::gpu::sim::Barrier::count, flag); }
inline void __syncwarp(unsigned mask = ~0u) { dyadic::gpu::sim::meet(dyadic::gpu::sim::Meeting::sync, mask, 0, 0); }
inline unsigned __activemask() { return dyadic::gpu::sim::active_mask(); }
inline unsigned __ballot_sync(unsigned mask, int flag) {
  return unsigned(dyadic::gpu::sim::meet(dyadic::gpu::sim::Meeting::ballot, mask, flag != 0, 0));
}
inline int __any_sync(unsigned mask, int flag) { return __ballot_sync(mask, flag) != 0; }
inline int __all_sync(unsigned mask, int flag) { return __ballot_sync(mask, !flag) == 0; }

template <class T>
  requires dyadic::gpu::sim::is_shuffled<T>
T __shfl_sync(unsigned mask, T value, int from, int width = warpSize) {
  return dyadic::gpu::sim::shuffle(mask, value, dyadic::gpu::sim::first_lane(width) + (from & (width - 1)));
}
template <class T>
  requires dyadic::gpu::sim::is_shuffled<T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
  const int me = dyadic::gpu::sim::lane(), from = me - int(by);
  return dyadic::gpu::sim::shuffle(mask, value, from < dyadic::gpu::sim::first_lane(width) ? me : from);
}
template <class T>
  requires dyadic::gpu::sim::is_shuffled<T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
  const int me = dyadic::gpu::sim::lane(), from = me + int(by);
  return dyadic::gpu::sim::shuffle(mask, value, from >= dyadic::gpu::sim::first_lane(width) + width ? me : from);
}
template <class T>
  requires dyadic::gpu::sim::is_shuffled<T>
T __shfl_xor_sync(unsigned mask, T value, int by, int width = warpSize) {
  const int me = dyadic::gpu::sim::lane(), from = me ^ by;
  return dyadic::gpu::sim::shuffle(mask, value, from >= dyadic::gpu::sim::first_lane(width) + width ? me : from);
}
template <class T>
  requires dyadic::gpu::sim::is_shuffled<T>
unsigned __match_any_sync(unsigned mask, T value) {  // lanes that hold the same bits
  unsigned same = 0;
  for (int i = 0; i < warpSize; ++i) {
    if (!(mask >> i & 1)) continue;
    const T other = dyadic::gpu::sim::shuffle(mask, value, i);
    if (std::memcmp(&other, &value, sizeof(T)) == 0) same |= 1u << i;
  }
  return same;
}

// Atomics: of integers only. A sum of floats in whatever order its terms arrive has different bits each time.
#define DY_ATOMIC(name, allowed, result)                                    \
  template <class T>                                                        \
    requires dyadic::gpu::sim::allowed<T>                                   \
  T name(T* at, dyadic::gpu::sim::same<T> b) {                              \
    return dyadic::gpu::sim::replace(at, [b](T a) -> T { return result; }); \
  }
DY_ATOMIC(atomicAdd, is_atomic, T(a + b))
DY_ATOMIC(atomicExch, is_atomic, b)
DY_ATOMIC(atomicMin, is_word, a < b ? a : b)
DY_ATOMIC(atomicMax, is_word, a > b ? a : b)
DY_ATOMIC(atomicAnd, is_atomic, T(a& b))
DY_ATOMIC(atomicOr, is_atomic, T(a | b))
DY_ATOMIC(atomicXor, is_atomic, T(a ^ b))
#undef DY_ATOMIC
inline int atomicSub(int* at, int b) {
  return dyadic::gpu::sim::replace(at, [b](int a) { return a - b; });
}
inline unsigned atomicSub(unsigned* at, unsigned b) {
  return dyadic::gpu::sim::replace(at, [b](unsigned a) { return a - b; });
}
template <class T>
  requires dyadic::gpu::sim::is_atomic<T>
T atomicCAS(T* at, dyadic::gpu::sim::same<T> expected, dyadic::gpu::sim::same<T> b) {
  return dyadic::gpu::sim::replace(at, [=](T a) -> T { return a == expected ? b : a; });
}

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}
[[noreturn]] inline void __trap() { dyadic::gpu::sim::trap(); }
template <class T> T __ldg(const T* at) { return *at; }
template <class T> T __ldcs(const T* at) { return *at; }
template <class T> T __ldcg(const T* at) { return *at; }
template <class T> void __stcs(T* at, std::type_identity_t<T> value) { *at = value; }
template <class T> void __stcg(T* at, std::type_identity_t<T> value) { *at = value; }

#include "plugins/cuda/sim/intrinsics.h"
