// Which arithmetic multiplies bf16 matrices. vdpbf16ps has twice the rate of an f32 FMA on AMD's Zen 4 and 5, but half of it on
// Intel's processors (measured on Sapphire Rapids: 89 against 180 GFLOP/s a core), where AMX is the fast way and, without AMX,
// decoding to f32 is. The choice follows the processor, never a timing.
#pragma once
#include <cstdint>

namespace dyadic::inline v1 {

enum class Bf16Path : uint8_t {
  decode,  // to f32 while packing
  dot,     // vdpbf16ps
  tiles,   // AMX, through oneDNN; own kernels decode
};
// DYADIC_BF16=decode|dot|tiles in the environment overrides it, where the machine can.
Bf16Path bf16_path();
// For tests: call it while no product runs. A path the machine lacks is refused: false.
bool set_bf16_path(Bf16Path path);

}  // namespace dyadic::inline v1
