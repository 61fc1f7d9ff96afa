// How few_rows.h finds weights in each of its formats: from a line's bytes in shared memory to 16-bit numbers in the order that
// its Note [Units] says, and the scales of their sums.
#pragma once
#include "plugins/cuda/products/gemm.h"
#include "plugins/cuda/products/stored.h"

namespace dyadic::gpu {

inline constexpr int kFewRows = 16, kUnit = 64, kFewWarps = 8;

// Scales in a plane of their own.
struct ScalePlane {
  const uint8_t *scales = nullptr, *zeros = nullptr;  // zeros: i8, of the same number
  const float *nested = nullptr, *whole = nullptr;    // scales are then codes of dynamic8, see Note [Double] of nf4.cpp
  Code code = Code::f32;
  int64_t first = 0, per_line = 0;
  int shift = 0;  // log2 of the elements that share one
};

enum class Book4 : uint8_t { nf4, i4 };  // of two 4-bit codes in a byte the first is the upper one, or the lower one

struct FewRows {
  const uint8_t* weights;  // the first line
  const uint16_t* x;
  int64_t line, line_bytes;  // from one line to the next, and of one
  int64_t x_line;
  int64_t n, k, depth;  // depth: of one of the parts of k
  int m, parts;
  int across;                 // warps side by side: 1, 2 or 4; the others of the block have other k
  int pitch, x_pitch, stage;  // bytes in shared memory: of a line, of a row of x, of a step
  int lanes, unit_bits;       // log2: of the lanes that copy a line, of a step's units
  Book4 book;
  ScalePlane plane;
};

// Bytes of a and b (4 .. 7) as `selector` names them, a hexadecimal digit each, the lowest first.
__device__ __forceinline__ uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t selector) {
#if __CUDA_ARCH__
  return __byte_perm(a, b, selector);
#else
  const uint64_t both = a | uint64_t(b) << 32;
  uint32_t r = 0;
  for (int i = 0; i < 4; ++i) r |= uint32_t(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
  return r;
#endif
}
// Sums of two pairs of 16-bit numbers, exact ones.
template <class H> __device__ __forceinline__ uint32_t add_exact(uint32_t a, uint32_t b) {
#if __CUDA_ARCH__
  uint32_t r;
  if constexpr (kIsBf16<H>)
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(0x3f803f80u), "r"(b));
  else
    asm("add.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
#else
  return pack16<H>(low16<H>(a) + low16<H>(b), high16<H>(a) + high16<H>(b));
#endif
}
template <class H> constexpr uint32_t both_halves(float x) {  // a whole number below 2048, bf16: with 8 bits
  const uint32_t u = __builtin_bit_cast(uint32_t, x);
  const uint32_t h = kIsBf16<H> ? u >> 16 : (u >> 16 & 0x8000u) | ((u & 0x7fffffffu) - (112u << 23)) >> 13;
  return h | h << 16;
}
// Four bytes, less than 128 each, minus kLess: the number with the bits of a code at its end is the code more than a power of
// two.
template <class H, int kLess> __device__ __forceinline__ void small_numbers(uint32_t bytes, uint32_t& first, uint32_t& second) {
  constexpr uint32_t kTop = kIsBf16<H> ? 0x43u : 0x64u, kMinus = both_halves<H>(-float((kIsBf16<H> ? 128 : 1024) + kLess));
  first = add_exact<H>(pick_bytes(bytes, kTop, 0x4140), kMinus);
  second = add_exact<H>(pick_bytes(bytes, kTop, 0x4342), kMinus);
}
// Four bytes with signs.
template <class H> __device__ __forceinline__ void signed_numbers(uint32_t bytes, uint32_t& first, uint32_t& second) {
  if constexpr (kIsBf16<H>) {  // 128 and the low 7 bits, minus 128 or 256
    const auto pair = [](uint32_t p) { return add_exact<H>((p & 0x007f007fu) | 0x43004300u, (p & 0x00800080u) | 0xc300c300u); };
    first = pair(pick_bytes(bytes, 0, 0x4140)), second = pair(pick_bytes(bytes, 0, 0x4342));
  } else {
    constexpr uint32_t kMinus = both_halves<H>(-1152.f);
    first = add_exact<H>(pick_bytes(bytes ^ 0x80808080u, 0x64u, 0x4140), kMinus);
    second = add_exact<H>(pick_bytes(bytes ^ 0x80808080u, 0x64u, 0x4342), kMinus);
  }
}
__device__ __forceinline__ float scale_half(uint32_t h) {
#if __CUDA_ARCH__
  return __half2float(__ushort_as_half(uint16_t(h)));
#else
  return half_value(uint16_t(h));
#endif
}
// Byte i as a float, without sign.
__device__ __forceinline__ float byte_float(uint32_t word, int i) {
  return bits_float(pick_bytes(word, 0x4b000000u, 0x7440u + uint32_t(i))) - 8388608.f;
}

// A line's bytes in shared memory: the first of a step is at `at` of its room, which begins at a multiple of 16.
struct LineBytes {
  const uint8_t* room;
  int at;
  __device__ __forceinline__ uint32_t half(int i) const { return reinterpret_cast<const Word2*>(room + at + i)->part; }
};
// Words from any place on, at multiples of 4 behind it.
struct LooseWords {
  const uint8_t* at;
  int shift;
  __device__ __forceinline__ LooseWords(LineBytes b, int i) : at(b.room + ((b.at + i) & ~3)), shift(8 * ((b.at + i) & 3)) {}
  __device__ __forceinline__ uint32_t operator[](int i) const {
    const auto* const w = reinterpret_cast<const Word4*>(at + i);
    const uint32_t low = w[0].part, high = w[1].part;
#if __CUDA_ARCH__
    return __funnelshift_r(low, high, shift);
#else
    return uint32_t((uint64_t(high) << 32 | low) >> shift);
#endif
  }
};
// Words at multiples of 4.
struct Words {
  const uint8_t* at;
  __device__ __forceinline__ Words(LineBytes b, int i) : at(b.room + i) {}
  __device__ __forceinline__ uint32_t operator[](int i) const { return reinterpret_cast<const Word4*>(at + i)->part; }
};

// A format: kSpan elements of a line lie in kSpanBytes; a unit has kGroups sums with scales of their own (0: none has one),
// from which kLeast times the sum of x is taken; kUnits of a step are a warp's; kRead bytes at once are read of a line; kLoose:
// lines begin anywhere. decode() gives a lane's numbers of unit `u` of a step.
template <int kSpan_, int kSpanBytes_, int kGroups_, bool kLoose_> struct FewFormat {
  static constexpr int kSpan = kSpan_, kSpanBytes = kSpanBytes_, kGroups = kGroups_, kUnits = 2, kRead = 4, kTable = 0;
  static constexpr bool kLoose = kLoose_, kLeast = false, kPlane = false, kPairs = false;
};
struct FewDense : FewFormat<1, 2, 0, false> {
  static constexpr int kUnits = 1, kRead = 16;
  static constexpr bool kPairs = true;
  template <class H>
  static __device__ void decode(const uint8_t*, LineBytes b, int u, int t, uint32_t (&w)[8], float (&)[1], float (&)[1]) {
    const auto* const from = reinterpret_cast<const Word16*>(b.room + 128 * u) + t;
    DY_UNROLL for (int i = 0; i < 2; ++i) {
      const Word16 word = from[4 * i];
      DY_UNROLL for (int e = 0; e < 4; ++e) w[4 * i + e] = word.part[e];
    }
  }
};
struct FewQ4_0 : FewFormat<32, 18, 2, true> {
  template <class H>
  static __device__ void decode(const uint8_t*, LineBytes b, int u, int t, uint32_t (&w)[8], float (&d)[2], float (&)[2]) {
    const LooseWords first(b, 36 * u + 2 + 4 * t), second(b, 36 * u + 20 + 4 * t);
    DY_UNROLL for (int i = 0; i < 2; ++i) {
      const uint32_t codes = i ? second[0] : first[0];
      small_numbers<H, 8>(codes & 0x0f0f0f0fu, w[4 * i], w[4 * i + 1]);
      small_numbers<H, 8>(codes >> 4 & 0x0f0f0f0fu, w[4 * i + 2], w[4 * i + 3]);
      d[i] = scale_half(b.half(36 * u + 18 * i));
    }
  }
};
struct FewQ8_0 : FewFormat<32, 34, 2, true> {
  static constexpr int kUnits = 1;
  template <class H>
  static __device__ void decode(const uint8_t*, LineBytes b, int u, int t, uint32_t (&w)[8], float (&d)[2], float (&)[2]) {
    const LooseWords first(b, 68 * u + 2 + 4 * t), second(b, 68 * u + 36 + 4 * t);
    DY_UNROLL for (int i = 0; i < 2; ++i) {
      signed_numbers<H>(i ? second[0] : first[0], w[4 * i], w[4 * i + 1]);
      signed_numbers<H>(i ? second[16] : first[16], w[4 * i + 2], w[4 * i + 3]);
      d[i] = scale_half(b.half(68 * u + 34 * i));
    }
  }
};
// q4_K and, with further bits, q5_K (sixbit.h).
template <bool kFive> struct FewSixBit : FewFormat<256, kFive ? 176 : 144, 2, false> {
  static constexpr bool kLeast = true;
  template <class H>
  static __device__ void decode(const uint8_t*, LineBytes b, int u, int t, uint32_t (&w)[8], float (&d)[2], float (&least)[2]) {
    const int i = u % 4, head = u / 4 * (kFive ? 176 : 144);
    const Words codes(b, head + (kFive ? 48 : 16) + 32 * i + 4 * t), fifth(b, head + 16 + 4 * t);
    const Word16 h = *reinterpret_cast<const Word16*>(b.room + head);
    DY_UNROLL for (int e = 0; e < 2; ++e) {
      const uint32_t both = codes[16 * e];
      uint32_t low = both & 0x0f0f0f0fu, high = both >> 4 & 0x0f0f0f0fu;
      if constexpr (kFive) {
        const uint32_t bits = fifth[16 * e] >> 2 * i;
        low |= (bits & 0x01010101u) << 4, high |= (bits & 0x02020202u) << 3;
      }
      small_numbers<H, 0>(low, w[2 * e], w[2 * e + 1]);
      small_numbers<H, 0>(high, w[4 + 2 * e], w[5 + 2 * e]);
    }
    // The scales and minima of sub-blocks 2 i and 2 i + 1, in the two low bytes.
    const int turn = 16 * (i % 2);
    const uint32_t s = h.part[1] >> turn, m = h.part[2] >> turn, four = h.part[3] >> turn;
    const uint32_t sc = i < 2 ? s & 0x3f3fu : (four & 0x0f0fu) | (s >> 2 & 0x3030u);
    const uint32_t under = i < 2 ? m & 0x3f3fu : (four >> 4 & 0x0f0fu) | (m >> 2 & 0x3030u);
    const float whole = scale_half(h.part[0] & 0xffffu), step = scale_half(h.part[0] >> 16);
    DY_UNROLL for (int e = 0; e < 2; ++e) d[e] = whole * byte_float(sc, e), least[e] = step * byte_float(under, e);
  }
};
struct FewQ6K : FewFormat<256, 210, 4, true> {
  template <class H>
  static __device__ void decode(const uint8_t*, LineBytes b, int u, int t, uint32_t (&w)[8], float (&d)[4], float (&)[4]) {
    const int head = u / 4 * 210, half = u / 2 % 2, turn = u % 2 * 4;
    const LooseWords lows(b, head + 64 * half + 4 * t), highs(b, head + 128 + 32 * half + 4 * t);
    const LooseWords scale(b, head + 192 + 8 * half + turn);
    DY_UNROLL for (int e = 0; e < 2; ++e) {
      const uint32_t high = highs[16 * e] >> turn;
      DY_UNROLL for (int q = 0; q < 2; ++q) {
        const uint32_t low = lows[32 * q + 16 * e] >> turn & 0x0f0f0f0fu;
        small_numbers<H, 32>(low | (q ? high << 2 & 0x30303030u : high << 4 & 0x30303030u), w[4 * q + 2 * e],
                             w[4 * q + 2 * e + 1]);
      }
    }
    const uint32_t scales = scale[0] ^ 0x80808080u;
    const float whole = scale_half(b.half(head + 208));
    DY_UNROLL for (int q = 0; q < 4; ++q) d[q] = whole * (byte_float(scales, q) - 128.f);
  }
};
struct FewMx4 : FewFormat<32, 17, 2, true> {
  // Twice e2m1's: its bits where a 16-bit number has them, times what the exponents differ by.
  template <class H> static __device__ uint32_t pair(uint32_t high) {  // a code in the upper half of each upper byte
    const uint32_t sign = high & 0x80008000u;
    constexpr int kShift = kIsBf16<H> ? 6 : 3;
    const uint32_t small = sign | (high >> kShift & (kIsBf16<H> ? 0x01c001c0u : 0x0e000e00u));
#if __CUDA_ARCH__
    uint32_t r;
    if constexpr (kIsBf16<H>)
      asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(small), "r"(0x7f007f00u), "r"(0x80008000u));
    else
      asm("mul.f16x2 %0, %1, %2;" : "=r"(r) : "r"(small), "r"(0x78007800u));
    return r;
#else
    const float times = H::value(kIsBf16<H> ? 0x7f00 : 0x7800);
    return pack16<H>(low16<H>(small) * times, high16<H>(small) * times);
#endif
  }
  template <class H>
  static __device__ void decode(const uint8_t*, LineBytes b, int u, int t, uint32_t (&w)[8], float (&d)[2], float (&)[2]) {
    DY_UNROLL for (int i = 0; i < 2; ++i) {
      const int at = 34 * u + 17 * i;
      const uint32_t codes = LooseWords(b, at + 1 + 4 * t)[0], low = codes << 4 & 0xf0f0f0f0u, high = codes & 0xf0f0f0f0u;
      w[4 * i] = pair<H>(pick_bytes(low, 0, 0x1404)), w[4 * i + 1] = pair<H>(pick_bytes(low, 0, 0x3424));
      w[4 * i + 2] = pair<H>(pick_bytes(high, 0, 0x1404)), w[4 * i + 3] = pair<H>(pick_bytes(high, 0, 0x3424));
      d[i] = DY_ISA::mx_half_scale(b.room[b.at + at]);
    }
  }
};
// Two 4-bit codes of neighbours in a byte: a table has both numbers of each byte, eight times, for lanes to read beside each
// other.
template <int kGroups_> struct FewNibbles : FewFormat<2, 1, kGroups_, false> {
  static constexpr int kTable = 256 * 8 * 4;
  static constexpr bool kPlane = true, kLeast = true, kPairs = true;
  template <class H> static __device__ void fill(uint8_t* table, const FewRows& p) {
    for (int i = int(threadIdx.x); i < 256; i += kFewWarps * 32) {
      const float low = p.book == Book4::i4 ? float(((i & 15) ^ 8) - 8) : nf4_book.value[i & 15];
      const float high = p.book == Book4::i4 ? float(((i >> 4) ^ 8) - 8) : nf4_book.value[i >> 4];
      const uint32_t both = p.book == Book4::i4 ? pack16<H>(low, high) : pack16<H>(high, low);
      DY_UNROLL for (int c = 0; c < 8; ++c) reinterpret_cast<Word4*>(table)[8 * i + c].part = both;
    }
  }
  template <class H>
  static __device__ void decode(const uint8_t* table, LineBytes b, int u, int t, uint32_t (&w)[8], float (&)[kGroups_],
                                float (&)[kGroups_]) {
    const auto lane = uint32_t(threadIdx.x) % 8 * 4;
    const Words words(b, 32 * u + 4 * t);
    DY_UNROLL for (int i = 0; i < 2; ++i) {
      const uint32_t codes = words[16 * i];
      const uint32_t at[4] = {codes << 5, codes >> 3, codes >> 11, codes >> 19};
      DY_UNROLL for (int e = 0; e < 4; ++e) w[4 * i + e] =
          reinterpret_cast<const Word4*>(table + ((at[e] & 0x1fe0u) | lane))->part;
    }
  }
};

}  // namespace dyadic::gpu
