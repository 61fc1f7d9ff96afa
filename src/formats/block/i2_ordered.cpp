// i2_ordered: i2 whose groups are columns anywhere in a row.
#include "formats/block/ordered_group.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i2_ordered_format =
    OrderedGroup<2>::format("i2_ordered", "2-bit integers whose groups are columns in any order, decoded only (GPTQ)");

}  // namespace dyadic::DY_ISA
