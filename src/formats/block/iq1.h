// iq1_s and iq1_m: entries of -1, 0, 1, all 8 moved by an eighth up or down, times a scale. In eighths they are integers, and
// the scale's eighth is exact.
#pragma once
#include "formats/block/iq.h"

namespace dyadic::DY_ISA {

// 8 (entry + 1/8), or - 1/8, as bytes. With 128 added to each none is negative, so nothing is carried into the next.
inline void iq1_codes(int index, bool down, int8_t* out) {
  constexpr uint64_t kOnes = 0x0101010101010101u;
  const uint64_t from_one = kIq1.entry[index] ^ 0x8080808080808080u;         // entry + 128, so -1, 0, 1 are 127, 128, 129
  const uint64_t digits = from_one - 127 * kOnes;                            // 0, 1, 2
  const uint64_t eighths = digits * 8 + (down ? 127 - 8 : 129 - 8) * kOnes;  // + 128
  store8(eighths ^ 0x8080808080808080u, out);
}

}  // namespace dyadic::DY_ISA
