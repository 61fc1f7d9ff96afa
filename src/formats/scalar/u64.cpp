// u64: 64-bit unsigned integer
#include "formats/scalar/plain.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef u64_format =
    integer_format<uint64_t>("u64", "uint64", "64-bit unsigned integer", Kind::uint, 18446744073709551615.0);

}  // namespace dyadic::DY_ISA
