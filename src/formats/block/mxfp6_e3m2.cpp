// mxfp6_e3m2: 6-bit floats (e3m2) in blocks of 32 with a power of two as scale (OCP MX, 2023).
#include "formats/block/float_group.h"

namespace dyadic::DY_ISA {
namespace {

using Groups = FloatGroup<FloatElement<kF6e3m2fn>>;

}  // namespace

extern constexpr FormatDef mxfp6_e3m2_format =
    Groups::format("mxfp6_e3m2", "6-bit floats (e3m2) in blocks of 32 with a power of two as scale (OCP MX, 2023)", kMx);

}  // namespace dyadic::DY_ISA
