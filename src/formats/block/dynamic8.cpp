// dynamic8: the signed dynamic 8-bit code in blocks (first moments of 8-bit optimizers).
#include "formats/block/dynamic_flat.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef dynamic8_format =
    dynamic_format<true>("dynamic8", "signed dynamic 8-bit code in flat blocks (bitsandbytes)");

}  // namespace dyadic::DY_ISA
