// Rounding f32 values to fewer bits, in f32.
#pragma once
#include <cstdint>

#include "dyadic/precision.h"

namespace dyadic::inline v1::ops {

enum class FewerBits : int { none, tf32, bf16 };
FewerBits matmul_rounding();  // what set_float32_matmul_precision asks for

// In place, to nearest even; NaN and infinities stay, what rounds beyond the largest number becomes infinite.
void round_floats(float* x, int64_t n, FewerBits to);

}  // namespace dyadic::inline v1::ops
