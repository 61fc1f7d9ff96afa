// f8e5m2fnuz: 8-bit float without infinities and negative zero (Graphcore and AMD, 2022).
#include "formats/scalar/small_float.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef f8e5m2fnuz_format = SmallFloat<kF8e5m2fnuz>::format(
    "f8e5m2fnuz", "float8_e5m2fnuz", "8-bit float without infinities and negative zero (Graphcore and AMD, 2022)");

}  // namespace dyadic::DY_ISA
