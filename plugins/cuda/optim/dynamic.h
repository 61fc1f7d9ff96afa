// A block of 256 elements in the dynamic 8-bit code (formats/block/dynamic8.h) as kCodeThreads threads hold it: four neighbours
// each. The same arithmetic as the CPU's, so the same codes and values.
#pragma once
#include "formats/block/dynamic_code.h"
#include "plugins/cuda/optim/work.h"
#include "plugins/cuda/rows/collectives.h"

namespace dyadic::gpu {

// All threads read the tables at different places: from shared memory.
struct CodeTables {
  DynamicTables of[2];  // signed, unsigned
};
__constant__ CodeTables kCodeTables = {{kDynamicTables<true>, kDynamicTables<false>}};

__device__ __forceinline__ void load_tables(CodeTables& t) {
  const auto* from = reinterpret_cast<const uint32_t*>(&kCodeTables);
  auto* to = reinterpret_cast<uint32_t*>(&t);
  for (unsigned i = threadIdx.x; i < sizeof(CodeTables) / 4; i += blockDim.x) to[i] = from[i];
  __syncthreads();
}

// A code's value times a scale, in one rounding less: how AdamW takes whole blocks.
template <bool kSigned> __device__ __forceinline__ float folded_value(const DynamicTables& t, uint8_t code, float scale) {
  const float centred = kSigned ? float(code) - 127.0f : float(code), magnitude = kSigned ? fabsf(centred) : centred;
  const float odd = magnitude * 2 + (kSigned ? 1.0f : 3.0f);
  const int at = int(float_bits(odd) >> 23 & 7);
  const float v = (odd * 9 - t.q[at]) * (t.inverse_high[at] * scale);
  return kSigned ? copysignf(v, centred) : v;
}
// The code of x in a block of this absmax; Note [Poisoned blocks].
template <bool kSigned> __device__ __forceinline__ uint8_t dynamic_code_of(const DynamicTables& t, float x, float absmax) {
  constexpr float kTiny = 0x1p-100f, kLift = 0x1p64f;
  constexpr uint8_t kZero = kSigned ? 127 : 0;
  if (!(absmax > 0) || !(absmax < __builtin_huge_valf())) {
    const bool infinite = (float_bits(x) & kAbsMask) == kInfBits;
    return !infinite ? kZero : x > 0 ? 255 : 0;
  }
  const bool small = absmax < kTiny;
  const float inverse = 1.0f / (small ? absmax * kLift : absmax);
  return dynamic_code<kSigned>((small ? x * kLift : x) * inverse, t);
}

// The values of a thread's run; `folded`: multiplied by `factor`, in a whole block by way of the scale.
template <int N>
__device__ __forceinline__ void decode_state(const CodeTables& tables, const Held& s, const StoredRun<N>& r, float absmax,
                                             bool whole, bool folded, float factor, float (&x)[N]) {
  const bool is_signed = s.kept == Kept::dynamic;
  const DynamicTables& t = tables.of[is_signed ? 0 : 1];
  DY_UNROLL
  for (int i = 0; i < N; ++i) {
    const auto code = uint8_t(r.part[0] >> 8 * i);
    if (folded && whole)
      x[i] = is_signed ? folded_value<true>(t, code, absmax * factor) : folded_value<false>(t, code, absmax * factor);
    else
      x[i] = folded ? t.value[code] * absmax * factor : t.value[code] * absmax;
  }
}
// All threads of a block; n: how many of the run there are.
template <int N>
__device__ __forceinline__ void encode_state(const CodeTables& tables, const Held& s, int64_t run, int n, const float (&x)[N]) {
  static_assert(N == 4);
  __shared__ uint32_t room[kGroupRoom<kCodeThreads>];
  uint32_t most = 0;
  DY_UNROLL
  for (int i = 0; i < N; ++i) {
    const uint32_t bits = float_bits(x[i]) & kAbsMask;
    most = i < n && bits > most ? bits : most;
  }
  most = group_all<kCodeThreads>(most, room, Larger());
  const float absmax = most > kInfBits ? bits_float(0x7fc00000u) : bits_float(most);
  if (threadIdx.x == 0) s.scale(run / kCodeThreads) = absmax;
  const bool is_signed = s.kept == Kept::dynamic;
  const DynamicTables& t = tables.of[is_signed ? 0 : 1];
  StoredRun<N> r = {};
  DY_UNROLL
  for (int i = 0; i < N; ++i) {
    const uint8_t code = is_signed ? dynamic_code_of<true>(t, x[i], absmax) : dynamic_code_of<false>(t, x[i], absmax);
    r.part[0] |= uint32_t(code) << 8 * i;
  }
  if (n > 0) write_as<uint8_t>(r, s.at + run * N, n);
}

}  // namespace dyadic::gpu
