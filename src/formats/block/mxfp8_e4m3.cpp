// mxfp8_e4m3: 8-bit floats (e4m3) in blocks of 32 with a power of two as scale (OCP MX, 2023).
#include "formats/block/float_group.h"

namespace dyadic::DY_ISA {
namespace {

using Groups = FloatGroup<FloatElement<kF8e4m3fn>>;

}  // namespace

extern constexpr FormatDef mxfp8_e4m3_format =
    Groups::format("mxfp8_e4m3", "8-bit floats (e4m3) in blocks of 32 with a power of two as scale (OCP MX, 2023)", kMx);

}  // namespace dyadic::DY_ISA
