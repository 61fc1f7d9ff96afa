// CRC-32C (Castagnoli; RFC 3720, B.4), and the mask that TFRecord puts over it.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace dyadic::inline v1::train {

constexpr std::array<uint32_t, 256> crc32c_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
    table[i] = c;
  }
  return table;
}

constexpr uint32_t crc32c(std::string_view bytes) {
  constexpr auto table = crc32c_table();
  uint32_t c = ~0u;
  for (char b : bytes) c = table[(c ^ uint8_t(b)) & 255] ^ c >> 8;
  return ~c;
}
static_assert(crc32c("123456789") == 0xe3069283u);

constexpr uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t c = crc32c(bytes);
  return (c >> 15 | c << 17) + 0xa282ead8u;
}

}  // namespace dyadic::inline v1::train
