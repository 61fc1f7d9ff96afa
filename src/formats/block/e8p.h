// E8P, the 2-bit codebook of QuIP# (Tseng, Chee, Sun, Kuleshov, De Sa 2024, arXiv:2402.04396, section 4.2): one word of 16 bits
// for 8 elements at once. Its vectors are those of E8 + 1/4, the densest packing there is: a magnitude for each element, 1/2,
// 3/2 or 5/2, of which 256 combinations are in use (227 of squared norm 10 and less, and 29 of the 56 that have 12 with no 5/2;
// which of them the paper leaves open); signs, of which seven are stored, since the sum of the eight is even; and 1/4 added to
// or taken from all. Bits: 0-7 the combination, 8-14 the signs of the first seven, 15 set where 1/4 is added.
//
// A code serves numbers that are spread like N(0, 1). So a block of 128 columns is turned first, by fixed signs and a Hadamard
// matrix, which makes its elements so, whatever they were ("incoherence"; QuIP# turns whole matrices, at run time).
#pragma once
#include "formats/block/ggml.h"

namespace dyadic::DY_ISA::e8p {

inline constexpr int64_t kBlock = 128, kWords = kBlock / 8;
inline constexpr float kTurn = 0.08838834764831845f;  // 1 / sqrt(128)

struct Codebook {
  alignas(64) float magnitude[8][256];
  alignas(64) float half_square[256];
  alignas(64) float odd[2][256];  // 2 where signs of this parity are one too many or too few, else 0
  uint64_t quarters[256];         // magnitudes times 4, a byte each
  uint8_t sum_is_odd[256];
};
constexpr Codebook make_codebook() {
  Codebook c{};
  int at = 0, twelve = 0, taken = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (int pattern = 0; pattern < 6561; ++pattern) {  // 3^8
      int digit[8] = {}, rest = pattern, square = 0, sum = 0;
      bool small = true;
      for (int k = 7; k >= 0; --k, rest /= 3) {
        digit[k] = 2 * (rest % 3) + 1;
        square += digit[k] * digit[k], sum += digit[k], small &= digit[k] < 5;
      }
      if (pass == 0 ? square > 40 : square != 48 || !small || 56 * taken / 29 != twelve++) continue;
      taken += pass;
      for (int k = 0; k < 8; ++k) {
        c.magnitude[k][at] = 0.5f * float(digit[k]);
        c.quarters[at] |= uint64_t(2 * digit[k]) << (8 * k);
      }
      c.half_square[at] = 0.125f * float(square);
      c.sum_is_odd[at] = uint8_t(sum / 2 & 1);
      c.odd[1 - c.sum_is_odd[at]][at] = 2;
      ++at;
    }
  return c;
}
inline constexpr Codebook kCodebook = make_codebook();
static_assert(kCodebook.quarters[255] != 0);

struct Signs {
  alignas(64) float value[kBlock];
};
constexpr Signs make_signs() {
  Signs s{};
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (float& v : s.value) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;  // xorshift64
    v = state >> 63 ? -1.0f : 1.0f;
  }
  return s;
}
inline constexpr Signs kSigns = make_signs();

// One step of x [128] times Sylvester's Hadamard matrix: pairs kApart from each other become their sum and their difference.
template <int64_t kApart> void butterfly(float* x) {
  constexpr hn::CappedTag<float, size_t(kApart)> d{};
  for (int64_t i = 0; i < kBlock; i += 2 * kApart)
    for (int64_t j = i; j < i + kApart; j += int64_t(hn::MaxLanes(d))) {
      const auto a = hn::Load(d, x + j), b = hn::Load(d, x + j + kApart);
      hn::Store(hn::Add(a, b), d, x + j);
      hn::Store(hn::Sub(a, b), d, x + j + kApart);
    }
}
// The first two, within four elements.
inline void butterflies4(float* x) {
  constexpr hn::FixedTag<float, 4> d{};
  alignas(16) constexpr float kOne[4] = {1, -1, 1, -1}, kTwo[4] = {1, 1, -1, -1};
  const auto one = hn::Load(d, kOne), two = hn::Load(d, kTwo);
  for (int64_t i = 0; i < kBlock; i += 4) {
    auto v = hn::Load(d, x + i);
    v = hn::Add(hn::Shuffle2301(v), hn::Mul(v, one));
    v = hn::Add(hn::Shuffle1032(v), hn::Mul(v, two));
    hn::Store(v, d, x + i);
  }
}
inline void hadamard(float* x) {
  butterflies4(x);
  butterfly<4>(x), butterfly<8>(x), butterfly<16>(x), butterfly<32>(x), butterfly<64>(x);
}
// A block turned. turned: aligned.
inline void turn(const float* x, float* turned) {
  for (int64_t i = 0; i < kBlock; ++i) turned[i] = x[i] * kSigns.value[i] * kTurn;
  hadamard(turned);
}

// What 16 words stand for, turned back: H q, q the vectors in quarters. Whole numbers, so nothing is rounded.
inline void turn_back(const uint8_t* words, int16_t* out) {
  constexpr hn::FixedTag<int16_t, 8> d{};
  constexpr hn::FixedTag<int32_t, 4> pairs{};
  constexpr hn::FixedTag<int64_t, 2> halves{};
  constexpr hn::FixedTag<uint8_t, 8> bytes{};
  alignas(16) constexpr int16_t kBit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
  alignas(16) constexpr int16_t kOne[8] = {1, -1, 1, -1, 1, -1, 1, -1}, kTwo[8] = {1, 1, -1, -1, 1, 1, -1, -1},
                                kFour[8] = {1, 1, 1, 1, -1, -1, -1, -1};
  const auto bit = hn::Load(d, kBit), one = hn::Load(d, kOne), two = hn::Load(d, kTwo), four = hn::Load(d, kFour);
  hn::Vec<decltype(d)> v[kWords];
#pragma GCC unroll 16
  for (int64_t i = 0; i < kWords; ++i) {
    const uint16_t word = load16(words + 2 * i);
    const uint8_t at = uint8_t(word), seven = uint8_t(word >> 8 & 127);
    const int minuses = seven | (__builtin_parity(seven) ^ kCodebook.sum_is_odd[at]) << 7;
    const auto size = hn::PromoteTo(d, hn::LoadU(bytes, reinterpret_cast<const uint8_t*>(kCodebook.quarters + at)));
    const auto minus = hn::VecFromMask(d, hn::Eq(hn::And(hn::Set(d, int16_t(minuses)), bit), bit));
    auto x = hn::Add(hn::Sub(hn::Xor(size, minus), minus), hn::Set(d, int16_t((word >> 15) * 2 - 1)));
    x = hn::Add(hn::Reverse2(d, x), hn::Mul(x, one));
    x = hn::Add(hn::BitCast(d, hn::Reverse2(pairs, hn::BitCast(pairs, x))), hn::Mul(x, two));
    v[i] = hn::Add(hn::BitCast(d, hn::Shuffle01(hn::BitCast(halves, x))), hn::Mul(x, four));
  }
#pragma GCC unroll 4
  for (int64_t apart = 1; apart < kWords; apart *= 2)
#pragma GCC unroll 16
    for (int64_t i = 0; i < kWords; ++i) {
      if (i & apart) continue;
      const auto a = v[i], b = v[i + apart];
      v[i] = hn::Add(a, b), v[i + apart] = hn::Sub(a, b);
    }
#pragma GCC unroll 16
  for (int64_t i = 0; i < kWords; ++i) hn::Store(v[i], d, out + 8 * i);
}

// The word whose vector is nearest to x [8], half their squared distance, and the vector.
struct Nearest {
  uint16_t word;
  float half_distance;
};
inline Nearest nearest_word(const float* x, float* vector) {
  float least = 0;
  int best = -1, best_at = 0;
  for (int up = 0; up < 2; ++up) {
    const float shift = up ? 0.25f : -0.25f;
    float size[8], square = 0;
    int minuses = 0;
    for (int k = 0; k < 8; ++k) {
      const float y = x[k] - shift;
      size[k] = y < 0 ? -y : y, minuses += y < 0, square += y * y;
    }
    VF distance = hn::Set(kF32, bits_float(kInfBits));
    VI where = hn::Zero(kI32);
    for (int64_t p = 0; p < 256; p += kLanes) {
      VF part = hn::Mul(hn::Set(kF32, size[0]), hn::Load(kF32, kCodebook.magnitude[0] + p)), dot = part, smallest = part;
      for (int k = 1; k < 8; ++k) {
        part = hn::Mul(hn::Set(kF32, size[k]), hn::Load(kF32, kCodebook.magnitude[k] + p));
        dot = hn::Add(dot, part), smallest = hn::Min(smallest, part);
      }
      const VF flipped = hn::Mul(smallest, hn::Load(kF32, kCodebook.odd[minuses & 1] + p));
      const VF d = hn::Add(hn::Sub(hn::Load(kF32, kCodebook.half_square + p), dot), flipped);
      const auto nearer = hn::Lt(d, distance);
      distance = hn::IfThenElse(nearer, d, distance);
      where = hn::IfThenElse(hn::RebindMask(kI32, nearer), hn::Iota(kI32, int32_t(p)), where);
    }
    alignas(64) float lane[kLanes];
    alignas(64) int32_t index[kLanes];
    hn::Store(distance, kF32, lane), hn::Store(where, kI32, index);
    int at = 0;
    for (int64_t i = 1; i < kLanes; ++i)
      if (lane[i] < lane[at] || (lane[i] == lane[at] && index[i] < index[at])) at = int(i);
    const float all = 0.5f * square + lane[at];
    if (best < 0 || all < least) least = all, best = up, best_at = index[at];
  }
  const float shift = best ? 0.25f : -0.25f;
  int minus = 0, smallest = 0;
  float at_smallest = 0;
  for (int k = 0; k < 8; ++k) {
    const float y = x[k] - shift, part = (y < 0 ? -y : y) * kCodebook.magnitude[k][best_at];
    minus |= int(y < 0) << k;
    if (k == 0 || part < at_smallest) smallest = k, at_smallest = part;
  }
  if (__builtin_parity(unsigned(minus)) != kCodebook.sum_is_odd[best_at]) minus ^= 1 << smallest;
  for (int k = 0; k < 8; ++k)
    vector[k] = (minus >> k & 1 ? -kCodebook.magnitude[k][best_at] : kCodebook.magnitude[k][best_at]) + shift;
  return {uint16_t(best_at | (minus & 127) << 8 | best << 15), least};
}

// The scale that is stored, in the unit of the elements: d, a bf16, over it; 0 where there is none.
inline float stored_scale(float scale, float unit, uint16_t* d) {
  *d = bf16_nearest(scale * unit);
  const float value = bf16_value(*d);
  return value > 0 && finite(value) ? value / unit : 0;
}

// Words for a block that is turned already, given in a unit in which squares can be summed, and d: that of the elements' mean
// square, then twice the one that fits the words best. Of the three the nearest stays.
inline uint16_t encode_turned(const float* turned, float unit, uint16_t* words) {
  float sum[8] = {};
  for (int64_t i = 0; i < kBlock; ++i) sum[i % 8] += turned[i] * turned[i];
  const float square = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
  float wanted = 0.95f * __builtin_sqrtf(square * (1.0f / kBlock)), least = 0;
  uint16_t kept = 0, d;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const float scale = stored_scale(wanted, unit, &d);
    if (scale == 0) break;
    const float inverse = 1.0f / scale;
    uint16_t made[kWords];
    float distance = 0, product = 0, power = 0;
    for (int64_t i = 0; i < kWords; ++i) {
      float x[8], vector[8];
      for (int k = 0; k < 8; ++k) x[k] = turned[8 * i + k] * inverse;
      const Nearest n = nearest_word(x, vector);
      made[i] = n.word, distance += n.half_distance;
      for (int k = 0; k < 8; ++k) product += x[k] * vector[k], power += vector[k] * vector[k];
    }
    distance *= scale * scale;
    if (attempt == 0 || distance < least) least = distance, kept = d, __builtin_memcpy(words, made, sizeof made);
    wanted = scale * (product / power);
  }
  return kept;
}

}  // namespace dyadic::DY_ISA::e8p
