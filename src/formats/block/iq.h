// The iq formats of ggml that are only decoded: super-blocks of 256 whose codes choose entries of a codebook (grids.h), 8 or 4
// values at a time, with signs, and a scale for each 16 or 32. Their encoders need importance data and minutes; files bring the
// codes.
#pragma once
#include "formats/block/ggml.h"
#include "formats/grids.h"

namespace dyadic::DY_ISA {

inline uint32_t load32(const uint8_t* p) { return uint32_t(load16(p)) | uint32_t(load16(p + 2)) << 16; }

// Eight signs whose number of minuses is even are stored in 7 bits.
inline uint8_t even_signs(uint32_t seven) { return uint8_t((seven & 127) | uint32_t(__builtin_parity(seven & 127)) << 7); }

// The bytes of `values` (1 .. 127) with a minus where `signs` has a bit.
inline uint64_t with_signs(uint64_t values, uint8_t signs) {
  constexpr uint64_t kOnes = 0x0101010101010101u;
  const uint64_t apart = (signs * kOnes) & 0x8040201008040201u;                 // bit k of the signs in byte k
  const uint64_t minus = ((apart + 0x7f7f7f7f7f7f7f7fu) | apart) >> 7 & kOnes;  // 1 in those bytes
  return (values ^ minus * 255) + minus;
}
// out = codes times the scale of their group; the codes of a super-block are written before any is read, for reading 16 bytes
// just written as two 8 waits.
inline void scale_groups(const int8_t* codes, int group, const float* scale, float* out) {
  for (int i = 0; i < kSuper; i += group) scale_codes(codes + i, group, scale[i / group], out + i);
}
inline void store8(uint64_t eight, int8_t* out) { __builtin_memcpy(out, &eight, 8); }

}  // namespace dyadic::DY_ISA
