// The codes of ggml's blocks of 32: 4 bits each, element j in the low half of byte j and element j + 16 in the high half; of
// 5-bit codes the highest bit is bit j of a little-endian word in front of them.
#pragma once
#include "formats/block/ggml.h"

namespace dyadic::DY_ISA {

inline constexpr int64_t kHalf = kGgmlBlock / 2;

inline void pack_halves(const uint8_t* codes, uint8_t* out) {
  const Bytes16 low = hn::LoadU(kBytes16, codes), high = hn::LoadU(kBytes16, codes + kHalf);
  hn::StoreU(hn::Or(hn::And(low, hn::Set(kBytes16, 15)), hn::ShiftLeft<4>(high)), kBytes16, out);
}
inline void unpack_halves(const uint8_t* packed, uint8_t* codes) {
  const Bytes16 both = hn::LoadU(kBytes16, packed);
  hn::StoreU(hn::And(both, hn::Set(kBytes16, 15)), kBytes16, codes);
  hn::StoreU(hn::ShiftRight<4>(both), kBytes16, codes + kHalf);
}
// The codes' values of a table of 16.
inline void look_up_halves(const uint8_t* packed, const int8_t* table, int8_t* values) {
  constexpr hn::Full128<int8_t> d{};
  const Bytes16 both = hn::LoadU(kBytes16, packed);
  const auto t = hn::LoadU(d, table);
  hn::StoreU(hn::TableLookupBytes(t, hn::BitCast(d, hn::And(both, hn::Set(kBytes16, 15)))), d, values);
  hn::StoreU(hn::TableLookupBytes(t, hn::BitCast(d, hn::ShiftRight<4>(both))), d, values + kHalf);
}
// out = (code + shift) d.
inline void decode_halves(const uint8_t* packed, float d, int shift, float* out) {
  constexpr hn::Rebind<uint8_t, I32> bytes{};
  const VF scale = hn::Set(kF32, d);
  const VI low = hn::Set(kI32, 15), by = hn::Set(kI32, shift);
  for (int64_t i = 0; i < kHalf; i += kLanes) {
    const VI pair = hn::PromoteTo(kI32, hn::LoadU(bytes, packed + i));
    hn::StoreU(hn::Mul(hn::ConvertTo(kF32, hn::Add(hn::And(pair, low), by)), scale), kF32, out + i);
    hn::StoreU(hn::Mul(hn::ConvertTo(kF32, hn::Add(hn::ShiftRight<4>(pair), by)), scale), kF32, out + kHalf + i);
  }
}

// int((x - *base) * inverse + round), base 0 if null, as C's conversion to a byte does it on x86: what does not fit in 32 bits
// becomes 0.
inline VI byte_code(const float* p, const float* base, VF inverse, VF round) {
  const VF x = hn::LoadU(kF32, p);
  const VF v = hn::Add(hn::Mul(base ? hn::Sub(x, hn::Set(kF32, *base)) : x, inverse), round);
  return hn::And(truncate(v), hn::Set(kI32, 255));
}
inline void encode_halves(const float* in, const float* base, float inverse, float round, uint8_t* out) {
  const VF s = hn::Set(kF32, inverse), r = hn::Set(kF32, round);
  const VI high = hn::Set(kI32, 15);
  for (int64_t i = 0; i < kHalf; i += kLanes)
    store_bytes(hn::Or(hn::Min(byte_code(in + i, base, s, r), high),
                       hn::ShiftLeft<4>(hn::Min(byte_code(in + kHalf + i, base, s, r), high))),
                out + i);
}

// 5-bit codes: 4 bytes of highest bits, then the halves.
inline void pack_fives(const uint8_t* codes, uint8_t* out) {
  const Bytes16 top = hn::Set(kBytes16, 16);
  hn::StoreMaskBits(kBytes16, hn::TestBit(hn::LoadU(kBytes16, codes), top), out);
  hn::StoreMaskBits(kBytes16, hn::TestBit(hn::LoadU(kBytes16, codes + kHalf), top), out + 2);
  pack_halves(codes, out + 4);
}
// out = codes - zero.
inline void unpack_fives(const uint8_t* packed, int zero, uint8_t* out) {
  alignas(16) static constexpr uint8_t kBit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  alignas(16) static constexpr uint8_t kByte[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  constexpr hn::Full128<uint32_t> words{};
  const Bytes16 both = hn::LoadU(kBytes16, packed + 4), bit = hn::Load(kBytes16, kBit), byte = hn::Load(kBytes16, kByte);
  const Bytes16 half[2] = {hn::And(both, hn::Set(kBytes16, 15)), hn::ShiftRight<4>(both)};
  for (int h = 0; h < 2; ++h) {
    const Bytes16 top = hn::TableLookupBytes(hn::BitCast(kBytes16, hn::Set(words, load16(packed + 2 * h))), byte);
    const Bytes16 sixteen = hn::And(hn::VecFromMask(kBytes16, hn::TestBit(top, bit)), hn::Set(kBytes16, 16));
    hn::StoreU(hn::Sub(hn::Or(half[h], sixteen), hn::Set(kBytes16, uint8_t(zero))), kBytes16, out + kHalf * h);
  }
}
inline void encode_fives(const float* in, const float* base, float inverse, float round, uint8_t* out) {
  const VF s = hn::Set(kF32, inverse), r = hn::Set(kF32, round);
  uint8_t codes[kGgmlBlock];
  for (int64_t i = 0; i < kGgmlBlock; i += kLanes)
    store_bytes(hn::Min(byte_code(in + i, base, s, r), hn::Set(kI32, 31)), codes + i);
  pack_fives(codes, out);
}

// The least and the largest element; of equal ones the first, which decides the sign of a zero.
struct Range {
  float low, high;
};
inline Range range_of(const float* in) {
  VF low = hn::LoadU(kF32, in), high = low;
  for (int64_t i = kLanes; i < kGgmlBlock; i += kLanes) {
    const VF v = hn::LoadU(kF32, in + i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
  }
  Range r{hn::GetLane(hn::MinOfLanes(kF32, low)), hn::GetLane(hn::MaxOfLanes(kF32, high))};
  if (r.low == 0) {
    int64_t first = 0;
    while (in[first] != 0) ++first;
    r.low = in[first];
  }
  r.high = r.high == 0 ? 0.0f : r.high;  // -0 - 0 would give d a sign
  return r;
}

}  // namespace dyadic::DY_ISA
