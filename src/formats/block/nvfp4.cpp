// nvfp4: 4-bit floats (e2m1) in blocks of 16 with an e4m3 scale, and one f32 scale (NVIDIA, 2025).
#include "formats/block/float_group.h"

namespace dyadic::DY_ISA {
namespace {

using Groups = FloatGroup<FloatElement<kF4e2m1fn>>;

}  // namespace

extern constexpr FormatDef nvfp4_format =
    Groups::format("nvfp4", "4-bit floats (e2m1) in blocks of 16 with an e4m3 scale, and one f32 scale (NVIDIA, 2025)",
                   {.granularity = Granularity::group, .block = 16, .scale = &detail::f8e4m3fn});

}  // namespace dyadic::DY_ISA
