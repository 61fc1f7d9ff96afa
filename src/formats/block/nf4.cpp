// nf4: 4-bit NormalFloat, the quantiles of N(0, 1) scaled to [-1, 1] with an exact zero (Dettmers et al., "QLoRA", 2023).
// Values and thresholds are bitsandbytes' (csrc, dDequantizeNF4 and dQuantizeNF4): a value on a threshold gets the lower code.
#include "formats/block/flat4.h"

namespace dyadic::DY_ISA {
namespace {

constexpr Codebook4 kNf4 = {
    .value = {-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f, -0.28444138169288635f,
              -0.18477343022823334f, -0.09105003625154495f, 0.0f, 0.07958029955625534f, 0.16093020141124725f,
              0.24611230194568634f, 0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f},
    .threshold = {-0.8480964004993439f, -0.6106329262256622f, -0.4599952697753906f, -0.33967943489551544f,
                  -0.23460740596055984f, -0.13791173323988914f, -0.045525018125772476f, 0.03979014977812767f,
                  0.1202552504837513f, 0.2035212516784668f, 0.2920137718319893f, 0.3893125355243683f, 0.5016634166240692f,
                  0.6427869200706482f, 0.8614784181118011f},
    .code = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    .zero = 7,
    .lowest = 0,
    .highest = 15,
};
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
