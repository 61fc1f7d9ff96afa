// i8_ordered: i8 whose groups are columns anywhere in a row.
#include "formats/block/ordered_group.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i8_ordered_format =
    OrderedGroup<8>::format("i8_ordered", "8-bit integers whose groups are columns in any order, decoded only (GPTQ)");

}  // namespace dyadic::DY_ISA
