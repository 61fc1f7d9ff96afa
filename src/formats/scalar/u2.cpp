// u2: 2-bit unsigned integer. Packed.
#include "formats/scalar/small_integer.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef u2_format = small_integer<2, Kind::uint>("u2", "uint2", "2-bit unsigned integer");

}  // namespace dyadic::DY_ISA
