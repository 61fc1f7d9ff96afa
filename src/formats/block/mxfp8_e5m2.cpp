// mxfp8_e5m2: 8-bit floats (e5m2) in blocks of 32 with a power of two as scale (OCP MX, 2023).
#include "formats/block/float_group.h"

namespace dyadic::DY_ISA {
namespace {

using Groups = FloatGroup<FloatElement<kF8e5m2>>;

}  // namespace

extern constexpr FormatDef mxfp8_e5m2_format =
    Groups::format("mxfp8_e5m2", "8-bit floats (e5m2) in blocks of 32 with a power of two as scale (OCP MX, 2023)", kMx);

}  // namespace dyadic::DY_ISA
