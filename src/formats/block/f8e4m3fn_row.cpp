// f8e4m3fn: 8-bit floats (e4m3) with a scale per row, tensor, group or tile.
#include "formats/block/float_group.h"

namespace dyadic::DY_ISA {
namespace {

using Groups = FloatGroup<FloatElement<kF8e4m3fn>>;

}  // namespace

extern constexpr FormatDef f8e4m3fn_row_format =
    Groups::format("f8e4m3fn", "8-bit floats (e4m3) with a scale per row, tensor, group or tile", kByRow, kAnyGroup);

}  // namespace dyadic::DY_ISA
