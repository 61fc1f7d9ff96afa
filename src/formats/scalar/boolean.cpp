// bool: one byte, 0 or 1. Decodes to 0 or 1 whatever non-zero byte a file held; encodes "not zero".
#include "formats/scalar/plain.h"

namespace dyadic::DY_ISA {
namespace {

void decode(const void* stored, void* computed, int64_t n) {
  const uint8_t* __restrict__ s = static_cast<const uint8_t*>(stored);
  int32_t* __restrict__ c = static_cast<int32_t*>(computed);
  for (int64_t i = 0; i < n; ++i) c[i] = s[i] != 0;
}
void encode(const void* computed, void* stored, int64_t n, const Round&) {
  const int32_t* __restrict__ c = static_cast<const int32_t*>(computed);
  uint8_t* __restrict__ s = static_cast<uint8_t*>(stored);
  for (int64_t i = 0; i < n; ++i) s[i] = c[i] != 0;
}
double decode1(const Format&, uint64_t code) { return code != 0; }
uint64_t encode1(const Format&, double value) { return !(value == 0); }

}  // namespace

extern constexpr FormatDef boolean_format = {
    .name = "bool",
    .doc = "truth value, one byte",
    .kind = Kind::boolean,
    .compute = Compute::i32,
    .bits = 8,
    .max = 1,
    .decode = decode,
    .encode = encode,
    .decode1 = decode1,
    .encode1 = encode1,
};

}  // namespace dyadic::DY_ISA
