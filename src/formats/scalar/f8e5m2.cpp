// f8e5m2: 8-bit float for gradients: the upper byte of an f16 (OCP 8-bit floating point, 2023).
#include "formats/scalar/small_float.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef f8e5m2_format = SmallFloat<kF8e5m2>::format(
    "f8e5m2", "float8_e5m2", "8-bit float for gradients: the upper byte of an f16 (OCP 8-bit floating point, 2023)");

}  // namespace dyadic::DY_ISA
