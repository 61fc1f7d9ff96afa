// i8: 8-bit two's complement integer
#include "formats/scalar/plain.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i8_format =
    integer_format<int8_t>("i8", "int8", "8-bit two's complement integer", Kind::sint, 127.0);

}  // namespace dyadic::DY_ISA
