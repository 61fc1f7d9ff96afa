// u16: 16-bit unsigned integer
#include "formats/scalar/plain.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef u16_format =
    integer_format<uint16_t>("u16", "uint16", "16-bit unsigned integer", Kind::uint, 65535.0);

}  // namespace dyadic::DY_ISA
