// Codes of fewer than 8 bits, one behind the other: code i takes bits [i * bits, (i + 1) * bits), counted from the lowest bit
// of the first byte. Plain C++, internal to the including file.
#pragma once
#include <cstddef>
#include <cstdint>

namespace dyadic::inline v1 {

// Eight codes lie in as many bytes as a code has bits.
template <int kBits> static void unpack_bits(const uint8_t* packed, int64_t begin, int64_t n, uint8_t* codes) {
  constexpr uint64_t kMask = (1u << kBits) - 1;
  const auto one = [&](int64_t i) {
    const int64_t bit = i * kBits;
    uint32_t word = packed[bit / 8];
    if (bit % 8 + kBits > 8) word |= uint32_t(packed[bit / 8 + 1]) << 8;
    return uint8_t((word >> (bit % 8)) & kMask);
  };
  int64_t i = 0;
  for (; i < n && (begin + i) % 8; ++i) codes[i] = one(begin + i);
  for (; i + 8 <= n; i += 8) {
    uint64_t word = 0;
    __builtin_memcpy(&word, packed + (begin + i) / 8 * kBits, kBits);
    for (int j = 0; j < 8; ++j) codes[i + j] = uint8_t((word >> (j * kBits)) & kMask);
  }
  for (; i < n; ++i) codes[i] = one(begin + i);
}
// From a byte boundary on; the bits behind the last code become zero.
template <int kBits> static void pack_bits(const uint8_t* codes, int64_t n, uint8_t* packed) {
  for (int64_t i = 0; i < n; i += 8) {
    const int64_t m = n - i < 8 ? n - i : 8;
    uint64_t word = 0;
    for (int64_t j = 0; j < m; ++j) word |= uint64_t(codes[i + j]) << (j * kBits);
    __builtin_memcpy(packed + i / 8 * kBits, &word, size_t((m * kBits + 7) / 8));
  }
}

}  // namespace dyadic::inline v1
