// f4e2m1fn: 4-bit float of OCP MX, 2023; no infinities, no NaN. Packed.
#include "formats/scalar/small_float.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef f4e2m1fn_format =
    SmallFloat<kF4e2m1fn>::format("f4e2m1fn", "float4_e2m1fn", "4-bit float of OCP MX, 2023; no infinities, no NaN");

}  // namespace dyadic::DY_ISA
