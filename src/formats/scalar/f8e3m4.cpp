// f8e3m4: 8-bit float with four bits of fraction, as IEEE 754 would have it (ml_dtypes).
#include "formats/scalar/small_float.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef f8e3m4_format = SmallFloat<kF8e3m4>::format(
    "f8e3m4", "float8_e3m4", "8-bit float with four bits of fraction, as IEEE 754 would have it (ml_dtypes)");

}  // namespace dyadic::DY_ISA
