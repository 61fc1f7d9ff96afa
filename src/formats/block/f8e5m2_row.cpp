// f8e5m2: 8-bit floats (e5m2) with a scale per row, tensor, group or tile.
#include "formats/block/float_group.h"

namespace dyadic::DY_ISA {
namespace {

using Groups = FloatGroup<FloatElement<kF8e5m2>>;

}  // namespace

extern constexpr FormatDef f8e5m2_row_format =
    Groups::format("f8e5m2", "8-bit floats (e5m2) with a scale per row, tensor, group or tile", kByRow, kAnyGroup);

}  // namespace dyadic::DY_ISA
