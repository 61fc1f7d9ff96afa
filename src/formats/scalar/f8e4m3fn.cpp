// f8e4m3fn: 8-bit float for weights and activations, finite but for NaN (OCP 8-bit floating point, 2023).
#include "formats/scalar/small_float.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef f8e4m3fn_format = SmallFloat<kF8e4m3fn>::format(
    "f8e4m3fn", "float8_e4m3fn",
    "8-bit float for weights and activations, finite but for NaN (OCP 8-bit floating point, 2023)");

}  // namespace dyadic::DY_ISA
