// Integers of less than a byte: one code in the low bits of a byte (formats/packed.h packs them). Encoding keeps the low bits.
#pragma once
#include "formats/bits.h"
#include "formats/format.h"

namespace dyadic::DY_ISA {

template <int kBits, Kind kKind> struct SmallInteger {
  static constexpr uint32_t kMask = (1u << kBits) - 1, kSign = kKind == Kind::sint ? 1u << (kBits - 1) : 0u;
  static int32_t value(uint32_t code) { return int32_t((code & kMask) ^ kSign) - int32_t(kSign); }

  static void decode(const void* stored, void* computed, int64_t n) {
    const uint8_t* __restrict__ s = static_cast<const uint8_t*>(stored);
    int32_t* __restrict__ c = static_cast<int32_t*>(computed);
    for (int64_t i = 0; i < n; ++i) c[i] = value(s[i]);
  }
  static void encode(const void* computed, void* stored, int64_t n, const Round&) {
    const int32_t* __restrict__ c = static_cast<const int32_t*>(computed);
    uint8_t* __restrict__ s = static_cast<uint8_t*>(stored);
    for (int64_t i = 0; i < n; ++i) s[i] = uint8_t(uint32_t(c[i]) & kMask);
  }
  static double decode1(const Format&, uint64_t code) { return value(uint32_t(code)); }
  static uint64_t encode1(const Format&, double x) { return uint64_t(truncate_i64(x)) & kMask; }
};

template <int kBits, Kind kKind> constexpr FormatDef small_integer(const char* name, const char* long_name, const char* doc) {
  using Code = SmallInteger<kBits, kKind>;
  FormatDef d{.name = name, .long_name = long_name, .doc = doc, .kind = kKind, .compute = Compute::i32, .bits = kBits};
  d.max = Code::kSign ? Code::kSign - 1 : Code::kMask;
  d.decode = Code::decode, d.encode = Code::encode, d.decode1 = Code::decode1, d.encode1 = Code::encode1;
  return d;
}

}  // namespace dyadic::DY_ISA
