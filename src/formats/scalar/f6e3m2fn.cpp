// f6e3m2fn: 6-bit float of OCP MX, 2023; no infinities, no NaN. Packed.
#include "formats/scalar/small_float.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef f6e3m2fn_format =
    SmallFloat<kF6e3m2fn>::format("f6e3m2fn", "float6_e3m2fn", "6-bit float of OCP MX, 2023; no infinities, no NaN");

}  // namespace dyadic::DY_ISA
