// u1: 1-bit unsigned integer. Packed.
#include "formats/scalar/small_integer.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef u1_format = small_integer<1, Kind::uint>("u1", "uint1", "1-bit unsigned integer");

}  // namespace dyadic::DY_ISA
