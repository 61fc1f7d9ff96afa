// u8: 8-bit unsigned integer
#include "formats/scalar/plain.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef u8_format = integer_format<uint8_t>("u8", "uint8", "8-bit unsigned integer", Kind::uint, 255.0);

}  // namespace dyadic::DY_ISA
