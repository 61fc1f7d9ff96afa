// i2: 2-bit two's complement integer. Packed.
#include "formats/scalar/small_integer.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i2_format = small_integer<2, Kind::sint>("i2", "int2", "2-bit two's complement integer");

}  // namespace dyadic::DY_ISA
