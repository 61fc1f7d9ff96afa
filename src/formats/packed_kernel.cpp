#include "formats/packed_kernel.h"

#include "formats/bitstream.h"

namespace dyadic::DY_ISA {
namespace {

void unpack(int bits, const uint8_t* packed, int64_t begin, int64_t n, uint8_t* codes) {
  switch (bits) {
    case 1:
      return unpack_bits<1>(packed, begin, n, codes);
    case 2:
      return unpack_bits<2>(packed, begin, n, codes);
    case 4:
      return unpack_bits<4>(packed, begin, n, codes);
    default:
      return unpack_bits<6>(packed, begin, n, codes);
  }
}
void pack(int bits, const uint8_t* codes, int64_t n, uint8_t* packed) {
  switch (bits) {
    case 1:
      return pack_bits<1>(codes, n, packed);
    case 2:
      return pack_bits<2>(codes, n, packed);
    case 4:
      return pack_bits<4>(codes, n, packed);
    default:
      return pack_bits<6>(codes, n, packed);
  }
}

}  // namespace

extern constexpr PackedKernel packed_kernel = {.unpack = unpack, .pack = pack};

}  // namespace dyadic::DY_ISA
