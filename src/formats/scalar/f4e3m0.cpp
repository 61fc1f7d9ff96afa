// f4e3m0: signed powers of two: 0, 0.25, 0.5, 1, 2, 4, 8, 16; no infinities, no NaN. Packed.
#include "formats/scalar/small_float.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef f4e3m0_format = SmallFloat<kF4e3m0>::format(
    "f4e3m0", "float4_e3m0", "signed powers of two: 0, 0.25, 0.5, 1, 2, 4, 8, 16; no infinities, no NaN");

}  // namespace dyadic::DY_ISA
