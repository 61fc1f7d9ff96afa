// nf4: 4-bit NormalFloat, the quantiles of N(0, 1) scaled to [-1, 1] with an exact zero (Dettmers et al., "QLoRA", 2023).
// Values and thresholds are bitsandbytes' (csrc, dDequantizeNF4 and dQuantizeNF4): a value on a threshold gets the lower code.
#include "formats/block/flat4.h"

namespace dyadic::DY_ISA {
namespace {

using Nf4 = Flat4<kNf4>;

}  // namespace

extern constexpr FormatDef nf4_format = {
    .name = "nf4",
    .doc = "4-bit NormalFloat in flat blocks (QLoRA, bitsandbytes)",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 4,
    .max = 1,
    .defaults = {.granularity = Granularity::flat, .block = 64, .doubled = true, .scale = &detail::f32},
    .options = kBlock | kDoubled,
    .block_step = 2,
    .planes = flat_planes,
    .decode_range = Nf4::decode_range,
    .encode_all = Nf4::encode_all,
    .decode1 = Nf4::decode1,
    .encode1 = Nf4::encode1,
};

}  // namespace dyadic::DY_ISA
