// i16: 16-bit two's complement integer
#include "formats/scalar/plain.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i16_format =
    integer_format<int16_t>("i16", "int16", "16-bit two's complement integer", Kind::sint, 32767.0);

}  // namespace dyadic::DY_ISA
