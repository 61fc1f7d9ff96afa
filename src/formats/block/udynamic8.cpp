// udynamic8: the unsigned dynamic 8-bit code in blocks (second moments of 8-bit optimizers). Negative values encode as zero.
#include "formats/block/dynamic_flat.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef udynamic8_format =
    dynamic_format<false>("udynamic8", "unsigned dynamic 8-bit code in flat blocks (bitsandbytes)");

}  // namespace dyadic::DY_ISA
