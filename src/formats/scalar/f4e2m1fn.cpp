// f4e2m1fn: 4-bit float of OCP MX, 2023; no infinities, no NaN. Packed.
#include "formats/scalar/small_float.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef f4e2m1fn_format = SmallFloat<Mini{2, 1, 1, Special::none, Overflow::saturate}>::format(
    "f4e2m1fn", "float4_e2m1fn", "4-bit float of OCP MX, 2023; no infinities, no NaN");

}  // namespace dyadic::DY_ISA
