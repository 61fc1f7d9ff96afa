// 4-bit codes, two in a byte: decoding through a table of 16 values, ranking against 15 thresholds, packing. The order of the
// two is a template argument: bitsandbytes puts the first element into the high nibble, the integer groups into the low one.
#pragma once
#include "formats/block/lanes.h"

namespace dyadic::DY_ISA {

enum class Order { high_first, low_first };

template <Order kOrder> constexpr int nibble(uint8_t byte, bool second) {
  return (kOrder == Order::high_first) != second ? byte >> 4 : byte & 15;
}
template <Order kOrder> constexpr uint8_t pack(int first, int second) {
  return kOrder == Order::high_first ? uint8_t(first << 4 | second) : uint8_t(second << 4 | first);
}

// out[i] = table[code begin + i], codes counted in nibbles from `packed`.
template <Order kOrder> void decode_nibbles(const uint8_t* packed, int64_t begin, int64_t end, const float* table, float* out) {
  if (begin < end && begin % 2) *out++ = table[nibble<kOrder>(packed[begin / 2], true)], ++begin;
  const uint8_t* p = packed + begin / 2;
  int64_t pairs = (end - begin) / 2;
#if DY_ISA_avx512
  // One 64-bit lane per byte: its two 32-bit halves become the two indices, of which the permutation reads the low four bits.
  const __m512 t = _mm512_loadu_ps(table);
  for (; pairs >= 8; pairs -= 8, p += 8, out += 16) {
    const __m512i b = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    const __m512i index = kOrder == Order::high_first ? _mm512_or_si512(_mm512_srli_epi64(b, 4), _mm512_slli_epi64(b, 32))
                                                      : _mm512_or_si512(b, _mm512_slli_epi64(b, 28));
    _mm512_storeu_ps(out, _mm512_permutexvar_ps(index, t));
  }
#elif DY_ISA_avx2
  const __m256 low = _mm256_loadu_ps(table), high = _mm256_loadu_ps(table + 8);
  for (; pairs >= 4; pairs -= 4, p += 4, out += 8) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    const __m256i b = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
    const __m256i index = kOrder == Order::high_first ? _mm256_or_si256(_mm256_srli_epi64(b, 4), _mm256_slli_epi64(b, 32))
                                                      : _mm256_or_si256(b, _mm256_slli_epi64(b, 28));
    const __m256 upper = _mm256_castsi256_ps(_mm256_slli_epi32(index, 28));  // bit 3 chooses the half
    _mm256_storeu_ps(out, _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, index), _mm256_permutevar8x32_ps(high, index), upper));
  }
#endif
  for (; pairs > 0; --pairs, ++p, out += 2) {
    out[0] = table[nibble<kOrder>(*p, false)];
    out[1] = table[nibble<kOrder>(*p, true)];
  }
  if ((end - begin) % 2) *out = table[nibble<kOrder>(*p, false)];
}

// n codes (one byte each) into (n + 1) / 2 bytes; the missing partner of a last odd one is `filler`.
template <Order kOrder>
void pack_nibbles(const uint8_t* __restrict__ codes, int64_t n, uint8_t* __restrict__ packed, int filler) {
  for (int64_t j = 0; j < n / 2; ++j) packed[j] = pack<kOrder>(codes[2 * j], codes[2 * j + 1]);
  if (n % 2) packed[n / 2] = pack<kOrder>(codes[n - 1], filler);
}

// The lanes of `codes` (0 .. 15) as kLanes / 2 bytes: in each pair of lanes, seen as one of 64 bits, shift the second to the
// first.
template <Order kOrder> void store_nibbles(VI codes, uint8_t* out) {
  constexpr hn::ScalableTag<uint64_t> pairs{};
  constexpr hn::Rebind<uint8_t, decltype(pairs)> bytes{};
  const auto v = hn::BitCast(pairs, codes);
  const auto packed =
      kOrder == Order::high_first ? hn::Or(hn::ShiftLeft<4>(v), hn::ShiftRight<32>(v)) : hn::Or(v, hn::ShiftRight<28>(v));
  hn::StoreU(hn::TruncateTo(bytes, packed), bytes, out);
}

// n codes code(values) from a byte boundary on; behind the last odd one comes the code of 0.
template <Order kOrder, class F> void encode_nibbles(const float* in, int64_t n, uint8_t* packed, F code) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_nibbles<kOrder>(code(hn::LoadU(kF32, in + i)), packed + i / 2);
  if (i == n) return;
  alignas(64) float rest[kLanes] = {};
  uint8_t got[kLanes];
  for (int64_t j = i; j < n; ++j) rest[j - i] = in[j];
  store_nibbles<kOrder>(code(hn::Load(kF32, rest)), got);
  for (int64_t j = 0; j < (n - i + 1) / 2; ++j) packed[i / 2 + j] = got[j];
}

// Fifteen ascending thresholds within [-1, 1], for rank(). As a search tree: level l holds 2^l of them, left to right (16
// entries each, repeated). As buckets, where no two thresholds share one of 32 equal parts of [-1, 1]: the threshold in each
// part (or one above all) and how many lie below the part.
struct Thresholds {
  float level[4][16];
  bool bucketed;
  float inside[32];
  int32_t below[32];
};
inline constexpr float kPerBucket = 15.999f;
constexpr Thresholds make_thresholds(const float (&sorted)[15]) {
  Thresholds t{};
  for (int l = 0; l < 4; ++l)
    for (int i = 0; i < 16; ++i) {
      const int width = 16 >> l;
      t.level[l][i] = sorted[(i % (1 << l)) * width + width / 2 - 1];
    }
  t.bucketed = true;
  int next = 0;
  for (int b = 0; b < 32; ++b) {
    t.inside[b] = 2, t.below[b] = next;
    for (int found = 0; next < 15 && sorted[next] * kPerBucket + 16 < float(b + 1); ++next, ++found) {
      t.inside[b] = sorted[next];
      // Values near a bucket's edge may be rounded to either side of it: no threshold is there.
      const float at = sorted[next] * kPerBucket + 16 - float(b);
      t.bucketed &= found == 0 && at > 0x1p-10f && at < 1 - 0x1p-10f;
    }
  }
  return t;
}
// How many thresholds lie below x, |x| <= 1.
template <const Thresholds& t> VI rank(VF x) {
#if DY_ISA_avx512
  if constexpr (t.bucketed) {
    const __m512i b = _mm512_cvttps_epi32(_mm512_fmadd_ps(x.raw, _mm512_set1_ps(kPerBucket), _mm512_set1_ps(16)));
    const __m512 inside = _mm512_permutex2var_ps(_mm512_loadu_ps(t.inside), b, _mm512_loadu_ps(t.inside + 16));
    const __m512i below = _mm512_permutex2var_epi32(_mm512_loadu_si512(t.below), b, _mm512_loadu_si512(t.below + 16));
    return count_if(VI{below}, hn::Gt(x, VF{inside}));
  }
#endif
  VI node = hn::Zero(kI32);
  for (int l = 0; l < 4; ++l) node = count_if(hn::Add(node, node), hn::Gt(x, lookup8(t.level[l], node)));
  return node;
}

}  // namespace dyadic::DY_ISA
