// i3_ordered: i3 whose groups are columns anywhere in a row.
#include "formats/block/ordered_group.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i3_ordered_format =
    OrderedGroup<3>::format("i3_ordered", "3-bit integers whose groups are columns in any order, decoded only (GPTQ)");

}  // namespace dyadic::DY_ISA
