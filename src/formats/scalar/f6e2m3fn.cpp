// f6e2m3fn: 6-bit float of OCP MX, 2023; no infinities, no NaN. Packed.
#include "formats/scalar/small_float.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef f6e2m3fn_format =
    SmallFloat<kF6e2m3fn>::format("f6e2m3fn", "float6_e2m3fn", "6-bit float of OCP MX, 2023; no infinities, no NaN");

}  // namespace dyadic::DY_ISA
