// Blocks of 256 elements in the dynamic 8-bit code (formats/block/dynamic8.h), one for each pair of warps: a thread has a run
// of four neighbours. The same arithmetic as the CPU's, so the same codes and values.
#pragma once
#include "formats/block/dynamic_code.h"
#include "plugins/cuda/optim/work.h"
#include "plugins/cuda/rows/collectives.h"

namespace dyadic::gpu {

// Of signed codes, then of those without a sign. Lanes read different rows, which lie in different banks.
struct alignas(256) CodeTables {
  struct alignas(8) Octave {  // of a magnitude, by its exponent modulo 32: where the decade ends that it begins in, and its row
    float next;
    uint32_t row;  // in bytes from the table's begin
  } octave[2][32];
  struct alignas(16) Class {  // of a code's magnitude: Dynamic8::Fraction
    float q, high, low, unused;
  } of_code[2][8];
  struct alignas(16) Decade {
    float a, b, top, unused;
  } decade[2][8];
};
constexpr CodeTables make_code_tables() {
  CodeTables all{};
  for (int k = 0; k < 2; ++k) {
    const DynamicTables& t = k == 0 ? kDynamicTables<true> : kDynamicTables<false>;
    for (int i = 0; i < 8; ++i) {
      all.of_code[k][i] = {t.q[i], t.inverse_high[i], t.inverse_low[i], 0};
      all.decade[k][i] = {t.a[i], t.b[i], t.top[i], 0};
    }
    const uint32_t rows = offsetof(CodeTables, decade) + k * sizeof(all.decade[0]);
    for (int e = 0; e < 32; ++e)
      all.octave[k][e] = {t.next[t.decade[e]], rows + uint32_t(t.decade[e]) * uint32_t(sizeof(CodeTables::Decade))};
  }
  return all;
}
static __device__ const CodeTables kCodeTables = make_code_tables();

// What the pairs of warps of a block of threads tell each other stands behind the tables, in turns.
struct CodeRoom {
  CodeTables tables;
  uint32_t told[2][kStepWarps / 2][4][2];  // by turn, pair, state, warp
};
// Where a CodeRoom lies in shared memory: a number that the compiler does not look into, or it would be put together anew, out
// of several parts, for each access.
class InRoom {
#if __CUDA_ARCH__
  uint32_t begin_;
#else
  char* at_;
#endif

 public:
#if __CUDA_ARCH__
  __device__ __forceinline__ explicit InRoom(CodeRoom& room) {
    asm volatile("mov.u32 %0, %1;" : "=r"(begin_) : "r"(uint32_t(__cvta_generic_to_shared(&room))));
  }
  __device__ __forceinline__ uint32_t begin() const { return begin_; }
  // Of what does not change.
  __device__ __forceinline__ float2 two(uint32_t at) const {
    float2 v;
    asm("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(at));
    return v;
  }
  __device__ __forceinline__ float4 four(uint32_t at) const {
    float4 v;
    asm("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(at));
    return v;
  }
  __device__ __forceinline__ void tell(uint32_t at, uint32_t v) const {
    asm volatile("st.shared.u32 [%0], %1;" : : "r"(at), "r"(v) : "memory");
  }
  __device__ __forceinline__ uint32_t larger(uint32_t at) const {
    uint32_t a, b;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at) : "memory");
    return max(a, b);
  }
#else
  explicit InRoom(CodeRoom& room) : at_(reinterpret_cast<char*>(&room)) {}
  uint32_t begin() const { return 0; }
  float2 two(uint32_t at) const { return *reinterpret_cast<const float2*>(at_ + at); }
  float4 four(uint32_t at) const { return *reinterpret_cast<const float4*>(at_ + at); }
  void tell(uint32_t at, uint32_t v) const { *reinterpret_cast<uint32_t*>(at_ + at) = v; }
  uint32_t larger(uint32_t at) const {
    const auto* const both = reinterpret_cast<const uint32_t*>(at_ + at);
    return max(both[0], both[1]);
  }
#endif
};
__device__ __forceinline__ InRoom load_tables(CodeRoom& room) {
  const InRoom in(room);
  const auto* from = reinterpret_cast<const uint32_t*>(&kCodeTables);
  auto* to = reinterpret_cast<uint32_t*>(&room.tables);
  for (unsigned i = threadIdx.x; i < sizeof(CodeTables) / 4; i += blockDim.x)
    to[i] = from[i] + (i < sizeof(CodeTables::octave) / 4 && i % 2 == 1 ? in.begin() : 0);  // a row: where it lies
  __syncthreads();
  return in;
}

inline constexpr float kTwo23 = 0x1p23f;  // from here on a float's last bits are an integer

// Its bits, in a register: an instruction has room for one constant.
__device__ __forceinline__ uint32_t two23_bits() {
#if __CUDA_ARCH__
  uint32_t bits;
  asm("mov.u32 %0, 0x4b000000;" : "=r"(bits));
  return bits;
#else
  return float_bits(kTwo23);
#endif
}

// The values of a run of codes times its block's scale; kFolded: of a state that is read multiplied by `factor`, in a whole
// block by way of the scale, which saves a rounding.
template <bool kSigned, bool kFolded, int N>
__device__ __forceinline__ void decode_codes(const InRoom& in, uint32_t codes, float absmax, bool whole, float factor,
                                             float (&x)[N]) {
  static_assert(N == 4);
  constexpr uint32_t kClasses = offsetof(CodeTables, of_code) + (kSigned ? 0 : sizeof(CodeTables::of_code) / 2);
  const float scale = absmax * factor;
  DY_UNROLL
  for (int i = 0; i < N; ++i) {
    const float shifted = bits_float(__byte_perm(codes, two23_bits(), 0x7540u + unsigned(i)));
    const float centred = shifted - (kTwo23 + (kSigned ? 127 : 0));
    const float odd = __fmaf_rn(kSigned ? fabsf(centred) : centred, 2, kSigned ? 1 : 3);  // up to the product all is exact
    const uint32_t at = ((float_bits(odd) >> 19 & 0x70u) | in.begin()) + kClasses;
    float q, high, low = 0;
    if (kFolded && whole) {
      const float2 c = in.two(at);
      q = c.x, high = c.y;
    } else {
      const float4 c = in.four(at);
      q = c.x, high = c.y, low = c.z;
    }
    const float numerator = __fmaf_rn(odd, 9, -q);
    float v;
    if (kFolded && whole)
      v = numerator * (high * scale);
    else
      v = __fmaf_rn(numerator, high, numerator * low) * absmax * factor;
    x[i] = kSigned ? copysignf(v, centred) : v;
  }
}

// What is rounded off is not in the sum: of 0 <= x < 2^23.
__device__ __forceinline__ uint32_t truncated(float x) {
#if __CUDA_ARCH__
  return float_bits(__fadd_rz(x, kTwo23));
#else
  return uint32_t(x);
#endif
}
__device__ __forceinline__ uint32_t low_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}
// The row, or the one behind it where the decade's end is reached.
__device__ __forceinline__ uint32_t moved_on(uint32_t row, float y, float end) {
  constexpr uint32_t kRow = sizeof(CodeTables::Decade);
#if __CUDA_ARCH__
  asm("{ .reg .pred p; setp.ge.f32 p, %1, %2; @p add.u32 %0, %0, %3; }" : "+r"(row) : "f"(y), "f"(end), "n"(kRow));
  return row;
#else
  return y >= end ? row + kRow : row;
#endif
}
// Of values of [-1, 1], but for rounding.
template <bool kSigned, int N> __device__ __forceinline__ uint32_t ordinary_codes(const InRoom& in, const float (&x)[N]) {
  static_assert(N == 4);
  constexpr uint32_t kOctaves = kSigned ? 0 : sizeof(CodeTables::octave) / 2;
  uint32_t m[N];
  DY_UNROLL
  for (int i = 0; i < N; ++i) {
    const float y = fmaxf(kSigned ? fabsf(x[i]) : x[i], bits_float(uint32_t(kLowestOctave) << 23));  // zero below
    const float2 octave = in.two(((float_bits(y) >> 20 & 0xf8u) | in.begin()) + kOctaves);           // next, row
    const float4 decade = in.four(moved_on(float_bits(octave.y), y, octave.x));                      // a, b, top
    const float product = y * decade.x;
    m[i] = truncated(fminf(product + decade.y, decade.z));
  }
  const uint32_t all = low_bytes(m[0], m[1], m[2], m[3]);
  if constexpr (!kSigned) {
    return all;
  } else {
    uint32_t high[N];
    DY_UNROLL
    for (int i = 0; i < N; ++i) high[i] = float_bits(x[i]);
    const uint32_t signs = __byte_perm(__byte_perm(high[0], high[1], 0x0073), __byte_perm(high[2], high[3], 0x0073), 0x5410);
    const uint32_t ones = signs >> 7 & 0x01010101u, minus = ones * 255u;
    // 127 + m, or 127 - m: of m = 128 that is the 0 of 127.
    const uint32_t below = (all - (all >> 7 & ones)) ^ 0x7f7f7f7fu;
    return (below & minus) | ((all + 0x7f7f7f7fu) & ~minus);
  }
}
// 1 / x, of 2^-100 .. 2^100: the card's way, without its question.
__device__ __forceinline__ float ordinary_inverse(float x) {
#if __CUDA_ARCH__
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return __fmaf_rn(r, __fmaf_rn(-x, r, 1), r);
#else
  return 1.0f / x;
#endif
}
// The codes of x in a block of this absmax; Note [Poisoned blocks].
template <bool kSigned, int N>
__device__ __forceinline__ uint32_t encode_codes(const InRoom& in, const float (&x)[N], uint32_t most) {
  constexpr float kTiny = 0x1p-100f, kHuge = 0x1p100f, kLift = 0x1p64f;
  constexpr uint32_t kZero = kSigned ? 127 : 0;
  const float absmax = bits_float(most);
  float y[N];
  if (most - float_bits(kTiny) <= float_bits(kHuge) - float_bits(kTiny)) {
    const float inverse = ordinary_inverse(absmax);
    DY_UNROLL
    for (int i = 0; i < N; ++i) y[i] = x[i] * inverse;
  } else if (most == 0 || most >= kInfBits) {
    uint32_t codes = 0;
    for (int i = 0; i < N; ++i) {
      const bool infinite = (float_bits(x[i]) & kAbsMask) == kInfBits;
      codes |= (!infinite ? kZero : x[i] > 0 ? 255u : 0u) << 8 * i;
    }
    return codes;
  } else {
    const float lift = absmax < kTiny ? kLift : 1, inverse = 1.0f / (absmax * lift);
    DY_UNROLL
    for (int i = 0; i < N; ++i) y[i] = x[i] * lift * inverse;
  }
  return ordinary_codes<kSigned>(in, y);
}

// Of the largest magnitude; NaN > inf > finite.
template <int N> __device__ __forceinline__ uint32_t magnitude_bits(const float (&x)[N]) {
#if __CUDA_ARCH__
  float most = fabsf(x[0]);
  DY_UNROLL
  for (int i = 1; i < N; ++i) asm("max.NaN.f32 %0, %0, %1;" : "+f"(most) : "f"(fabsf(x[i])));
  return float_bits(most) & kAbsMask;
#else
  uint32_t most = 0;
  for (int i = 0; i < N; ++i) most = max(most, float_bits(x[i]) & kAbsMask);
  return most;
#endif
}
// The largest of a warp's.
__device__ __forceinline__ uint32_t largest_of_warp(uint32_t bits) {
#if __CUDA_ARCH__
  return __reduce_max_sync(kWholeWarp, bits);
#else
  return warp_all<kWarp>(bits, Larger());
#endif
}

}  // namespace dyadic::gpu
