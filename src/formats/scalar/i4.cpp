// i4: 4-bit two's complement integer. Packed.
#include "formats/scalar/small_integer.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i4_format = small_integer<4, Kind::sint>("i4", "int4", "4-bit two's complement integer");

}  // namespace dyadic::DY_ISA
