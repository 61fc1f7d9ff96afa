// Runs of stored weights as products read them: 32 neighbours in storage order from the words that hold them, in registers,
// with the values that src/formats/block gives them.
#pragma once
#include "plugins/cuda/products/sides.h"

#include "formats/block/codebook4.h"
#include "plugins/cuda/formats/blocked.h"
#include "plugins/cuda/formats/dynamic.h"

namespace dyadic::gpu {

inline constexpr int kStoredRun = 32;

// N bytes as they lie, by loads of 2 or 16 of them where those are aligned.
template <int N, class W> __device__ inline void read_bytes(const uint8_t* from, uint8_t (&to)[N]) {
  DY_UNROLL for (int i = 0; i < N / int(sizeof(W)); ++i) {
    const W word = reinterpret_cast<const W*>(from)[i];
    __builtin_memcpy(to + i * sizeof(W), &word, sizeof(W));
  }
}
__device__ inline float stored_half(const uint8_t* p) { return half_value(uint16_t(p[0] | p[1] << 8)); }

// A decoder: values of elements [first, first + 32), first a multiple of 32.
struct Q4_0 {
  static __device__ void decode(const Blocked&, const uint8_t* at, int64_t first, float (&x)[32]) {
    uint8_t b[18];
    read_bytes<18, Word2>(at + first / 32 * 18, b);
    const float d = stored_half(b);
    DY_UNROLL for (int i = 0; i < 16; ++i) x[i] = float((b[2 + i] & 15) - 8) * d, x[16 + i] = float((b[2 + i] >> 4) - 8) * d;
  }
};
struct Q8_0 {
  static __device__ void decode(const Blocked&, const uint8_t* at, int64_t first, float (&x)[32]) {
    uint8_t b[34];
    read_bytes<34, Word2>(at + first / 32 * 34, b);
    const float d = stored_half(b);
    DY_UNROLL for (int i = 0; i < 32; ++i) x[i] = float(int8_t(b[2 + i])) * d;
  }
};
struct Q4K {
  static __device__ void decode(const Blocked&, const uint8_t* at, int64_t first, float (&x)[32]) {
    const uint8_t* const block = at + first / 256 * 144;
    const int j = int(first % 256) / 32;
    uint8_t head[16], b[32];
    read_bytes<16, Word16>(block, head);
    read_bytes<32, Word16>(block + 16 + j / 2 * 32, b);
    const uint8_t* const six = head + 4;
    // The scale and the minimum of sub-block j, 6 bits each (sixbit.h).
    const int low = j % 4;
    uint32_t words[3];
    __builtin_memcpy(words, six, 12);
    const uint32_t s = words[0] >> 8 * low & 255, m = words[1] >> 8 * low & 255, both = words[2] >> 8 * low & 255;
    const uint32_t sc = j < 4 ? s & 63 : (both & 15) | s >> 6 << 4, least = j < 4 ? m & 63 : both >> 4 | m >> 6 << 4;
    const float d = stored_half(head) * float(sc), min = -(stored_half(head + 2) * float(least));
    DY_UNROLL for (int i = 0; i < 32; ++i) x[i] = float(j % 2 ? b[i] >> 4 : b[i] & 15) * d + min;
  }
};
struct Q6K {
  static __device__ void decode(const Blocked&, const uint8_t* at, int64_t first, float (&x)[32]) {
    const uint8_t* const block = at + first / 256 * 210;
    const int j = int(first % 256) / 32, half = j / 4, quarter = j % 4;
    uint8_t low[32], high[32], scales[2], d[2];
    read_bytes<32, Word2>(block + 64 * half + quarter % 2 * 32, low);
    read_bytes<32, Word2>(block + 128 + 32 * half, high);
    read_bytes<2, Word2>(block + 192 + 2 * j, scales);
    read_bytes<2, Word2>(block + 208, d);
    const float whole = stored_half(d);
    DY_UNROLL for (int i = 0; i < 32; ++i) {
      const int code = (quarter / 2 ? low[i] >> 4 : low[i] & 15) + ((high[i] >> 2 * quarter & 3) << 4) - 32;
      x[i] = float(code) * (whole * float(int8_t(scales[i / 16])));
    }
  }
};
struct Mx4 {
  static __device__ float value(int code) {  // twice e2m1's: 0 1 2 3 4 6 8 12
    const int size = code & 7, twice = size < 4 ? size : (4 | (size & 1) << 1) << (size >> 1 & 1);
    return float(code & 8 ? -twice : twice);
  }
  static __device__ void decode(const Blocked&, const uint8_t* at, int64_t first, float (&x)[32]) {
    const uint8_t* const block = at + first / 32 * 17;
    const float d = DY_ISA::mx_half_scale(block[0]);
    DY_UNROLL for (int i = 0; i < 16; ++i) x[i] = value(block[1 + i] & 15) * d, x[16 + i] = value(block[1 + i] >> 4) * d;
  }
};
static __device__ const DY_ISA::Codebook4 nf4_book = DY_ISA::kNf4;
struct Nf4 {
  static __device__ float scale(const Blocked& f, const uint8_t* at, int64_t block) {
    if (f.more < 0) return reinterpret_cast<const float*>(at + f.scales)[block];
    const float nested = reinterpret_cast<const float*>(at + f.more)[block / 256];
    return dynamic_value<true>(at[f.scales + block]) * nested + *reinterpret_cast<const float*>(at + f.whole);
  }
  static __device__ void decode(const Blocked& f, const uint8_t* at, int64_t first, float (&x)[32]) {
    uint8_t b[16];
    read_bytes<16, Word16>(at + f.codes + first / 2, b);
    const float d = scale(f, at, first / f.block.by);
    DY_UNROLL for (int i = 0; i < 16; ++i) {
      x[2 * i] = nf4_book.value[b[i] >> 4] * d;
      x[2 * i + 1] = nf4_book.value[b[i] & 15] * d;
    }
  }
};
struct I4 {
  static __device__ void decode(const Blocked& f, const uint8_t* at, int64_t first, float (&x)[32]) {
    const int64_t row = first / f.cols.by, column = first - row * f.cols.by;
    const int64_t scale = f.scales_per_row ? row / f.band * f.scales_per_row + column / f.block.by : 0;
    uint8_t b[16];
    read_bytes<16, Word16>(at + f.codes + row * f.pitch + column / 2, b);
    const float d = load_usual<float>(f.scale, at + f.scales, scale);
    const int zero = f.zeros >= 0 ? int8_t(at[f.zeros + scale]) : 0;
    DY_UNROLL for (int i = 0; i < 16; ++i) {
      x[2 * i] = float((int(b[i] << 28) >> 28) - zero) * d;
      x[2 * i + 1] = float((int(b[i] << 24) >> 28) - zero) * d;
    }
  }
};

// The format is the same for all threads of a launch.
__device__ inline void decode_stored(const Blocked& f, const uint8_t* at, int64_t first, float (&x)[32]) {
  switch (f.layout) {
    case Layout::q4_0:
      return Q4_0::decode(f, at, first, x);
    case Layout::q8_0:
      return Q8_0::decode(f, at, first, x);
    case Layout::q4_K:
      return Q4K::decode(f, at, first, x);
    case Layout::q6_K:
      return Q6K::decode(f, at, first, x);
    case Layout::mxfp4:
      return Mx4::decode(f, at, first, x);
    case Layout::nf4:
      return Nf4::decode(f, at, first, x);
    default:
      return I4::decode(f, at, first, x);
  }
}
inline bool decodes_stored(const Blocked& f) {
  switch (f.layout) {
    case Layout::q4_0:
    case Layout::q8_0:
    case Layout::q4_K:
    case Layout::q6_K:
    case Layout::mxfp4:
      return true;
    case Layout::nf4:
      return f.block.by % kStoredRun == 0;
    case Layout::int_group:
      return f.bits == 4 && f.cols.by % kStoredRun == 0 && f.block.by % kStoredRun == 0;
    default:
      return false;
  }
}

// Stored elements as the side of a product; `lines` of columns or, along lines, of rows of storage order. Values are rounded to
// what is multiplied.
template <class H> struct StoredSide {
  static constexpr int kRun = kStoredRun;
  const uint8_t* at;
  bool along_k;
  Blocked format;
  int64_t first, apart;  // elements of storage order: the first, and from one line (step in k) to the next
  __device__ StoredSide entry(const ProductShape&, int64_t) const { return *this; }
  __device__ void run(int64_t i, int64_t k, int64_t lines, int64_t depth, uint32_t (&x)[kRun / 2]) const {
    float value[kRun] = {};
    if (i < lines && k < depth) decode_stored(format, at, first + (along_k ? i * apart + k : k * apart + i), value);
    DY_UNROLL for (int e = 0; e < kRun / 2; ++e) x[e] = pack16<H>(value[2 * e], value[2 * e + 1]);
  }
};
// The same for sums of f32: rounded to bf16 or f16 where that is what is multiplied.
struct StoredValues {
  const uint8_t* at;
  Blocked format;
  int64_t first, apart;
  Code as;
  __device__ StoredValues entry(const ProductShape&, int64_t) const { return *this; }
  __device__ void values(int64_t i, int64_t k, int64_t, float (&x)[kStoredRun]) const {
    decode_stored(format, at, first + i * apart + k, x);
    if (as == Code::f32) return;
    DY_UNROLL for (int e = 0; e < kStoredRun; e += 2) {
      const uint32_t both = as == Code::bf16 ? pack16<Bf16>(x[e], x[e + 1]) : pack16<F16>(x[e], x[e + 1]);
      x[e] = as == Code::bf16 ? low16<Bf16>(both) : low16<F16>(both);
      x[e + 1] = as == Code::bf16 ? high16<Bf16>(both) : high16<F16>(both);
    }
  }
};
// The other operand of those: f32, bf16 or f16, k together or not.
struct UsualValues {
  const void* at;
  Code code;
  SideSteps steps;
  __device__ UsualValues entry(const ProductShape&, int64_t) const { return *this; }
  __device__ void values(int64_t i, int64_t k, int64_t depth, float (&x)[kStoredRun]) const {
    const int64_t first = i * steps.line + k * steps.k;
    const auto* const from = static_cast<const char*>(at) + first * (code == Code::f32 ? 4 : 2);
    if (steps.k == 1 && k + kStoredRun <= depth && is_aligned(from)) {
      if (code == Code::f32) return load_run<ElementOf<Code::f32>>(from, 0, x);
      if (code == Code::bf16) return load_run<ElementOf<Code::bf16>>(from, 0, x);
      return load_run<ElementOf<Code::f16>>(from, 0, x);
    }
    DY_UNROLL for (int e = 0; e < kStoredRun; ++e) x[e] = k + e < depth ? load_usual<float>(code, at, first + e * steps.k) : 0;
  }
};

}  // namespace dyadic::gpu
