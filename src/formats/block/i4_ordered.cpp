// i4_ordered: i4 whose groups are columns anywhere in a row.
#include "formats/block/ordered_group.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i4_ordered_format =
    OrderedGroup<4>::format("i4_ordered", "4-bit integers whose groups are columns in any order, decoded only (GPTQ)");

}  // namespace dyadic::DY_ISA
