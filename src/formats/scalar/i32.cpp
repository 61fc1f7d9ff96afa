// i32: 32-bit two's complement integer
#include "formats/scalar/plain.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i32_format =
    integer_format<int32_t>("i32", "int32", "32-bit two's complement integer", Kind::sint, 2147483647.0);

}  // namespace dyadic::DY_ISA
