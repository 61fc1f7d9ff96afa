// Numbers out of unicode_tables.inc; tools/make_unicode.py says how they are packed.
#pragma once
#include <cstdint>

namespace dyadic::inline v1::text {

class Unpacker {
  const char* at_;
  static uint32_t digit(char c) {
    if (c >= '0' && c <= '9') return uint32_t(c - '0');
    if (c >= 'A' && c <= 'Z') return uint32_t(c - 'A') + 10;
    if (c >= 'a' && c <= 'z') return uint32_t(c - 'a') + 36;
    return c == '-' ? 62 : 63;
  }

 public:
  explicit Unpacker(const char* text) : at_(text) {}
  bool more() const { return *at_; }
  uint32_t next() {
    uint32_t n = 0;
    for (int shift = 0;; shift += 5) {
      const uint32_t d = digit(*at_++);
      n |= (d & 31) << shift;
      if (d < 32) return n;
    }
  }
};
const char* packed_decompositions();
const char* packed_combining_runs();

}  // namespace dyadic::inline v1::text
