// i64: 64-bit two's complement integer
#include "formats/scalar/plain.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i64_format =
    integer_format<int64_t>("i64", "int64", "64-bit two's complement integer", Kind::sint, 9223372036854775807.0);

}  // namespace dyadic::DY_ISA
