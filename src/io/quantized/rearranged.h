// Formats that say the same with their codes in another order: conversions between them that move codes and round none of them.
#pragma once
#include "dyadic/tensor.h"

namespace dyadic::inline v1::io {

// The block format of ggml that has a code for each of these integers' codes: q4_0 and q8_0 of integers of 2, 3, 4 and of 8
// bits, q4_1 of up to 4 bits with zero points or offsets. Undefined for others, and where a block of 32 could cross groups.
DType blocks_for(DType integers);

// `t` in dtype `to`, with the same codes, where that is possible; else undefined:
//   integers -> blocks_for() of them. To the bit where scales are f16 and there are no zero points, or where scales and
//   offsets are f16; else scales and minimums (the zero point times the scale) are rounded to f16, and nothing else is;
//   integers -> q8_0 where a code less the zero fits 8 bits and an offset is a whole number of steps, but for what rounding it
//   has lost; blocks where that is not so are made of their values. To the bit where scales are f16 and there are no offsets;
//   q4_0 -> i4(group=32,scale=f16), q8_0 -> i8(group=32,scale=f16).
// t is the whole of its storage, in its order.
Tensor rearranged(const Tensor& t, DType to);

}  // namespace dyadic::inline v1::io
