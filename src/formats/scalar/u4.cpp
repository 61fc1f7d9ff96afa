// u4: 4-bit unsigned integer. Packed.
#include "formats/scalar/small_integer.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef u4_format = small_integer<4, Kind::uint>("u4", "uint4", "4-bit unsigned integer");

}  // namespace dyadic::DY_ISA
