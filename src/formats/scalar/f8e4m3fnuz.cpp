// f8e4m3fnuz: 8-bit float without infinities and negative zero (Graphcore and AMD, 2022).
#include "formats/scalar/small_float.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef f8e4m3fnuz_format = SmallFloat<kF8e4m3fnuz>::format(
    "f8e4m3fnuz", "float8_e4m3fnuz", "8-bit float without infinities and negative zero (Graphcore and AMD, 2022)");

}  // namespace dyadic::DY_ISA
