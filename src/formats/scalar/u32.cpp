// u32: 32-bit unsigned integer. It computes in i64, which holds all of it.
#include "formats/scalar/plain.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef u32_format =
    integer_format<uint32_t>("u32", "uint32", "32-bit unsigned integer", Kind::uint, 4294967295.0);

}  // namespace dyadic::DY_ISA
