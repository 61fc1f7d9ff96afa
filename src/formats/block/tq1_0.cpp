// tq1_0: ternary codes (ternary.h), five to a byte: their number t in base 3, the first element foremost, stored as ceil(t 256
// / 243), so that each multiplication by 3 pushes the next digit out on top.
#include "formats/block/ternary.h"

namespace dyadic::DY_ISA {
namespace {

// `bytes` bytes; byte m holds the elements m, m + bytes, ...: `digits` of them, at most 5.
struct Part {
  int64_t bytes, digits;
};
constexpr Part kParts[] = {{32, 5}, {16, 5}, {4, 4}};

struct Packing {
  static constexpr int64_t kBytes = 52;

  static void pack(const uint8_t* codes, uint8_t* out) {
    for (const Part& p : kParts) {
      for (int64_t m = 0; m < p.bytes; ++m) {
        int t = 0;
        for (int64_t n = 0; n < 5; ++n) t = 3 * t + (n < p.digits ? codes[n * p.bytes + m] : 0);
        out[m] = uint8_t((t * 256 + 242) / 243);
      }
      out += p.bytes, codes += p.bytes * p.digits;
    }
  }
  static void unpack(const uint8_t* packed, uint8_t* codes) {
    for (const Part& p : kParts) {
      uint8_t power = 1;
      for (int64_t n = 0; n < p.digits; ++n, power = uint8_t(power * 3), codes += p.bytes)
        for (int64_t m = 0; m < p.bytes; ++m) codes[m] = uint8_t(uint8_t(packed[m] * power) * 3 >> 8);
      packed += p.bytes;
    }
  }
};

}  // namespace

extern constexpr FormatDef tq1_0_format =
    ggml_encoded<Ternary<Packing>>("tq1_0", "ternary super-blocks of 256, five codes to a byte (ggml)", 2);

}  // namespace dyadic::DY_ISA
