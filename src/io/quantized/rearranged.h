// Formats that say the same with their codes in another order: conversions between them that move codes and round none.
#pragma once
#include "dyadic/tensor.h"

namespace dyadic::inline v1::io {

// `t` in dtype `to`, with the same codes and scales, and so the same values to the bit, where that is possible; else undefined:
//   i4(group=N,scale=f16) -> q4_0, i8(group=N,scale=f16) -> q8_0, rows likewise, where blocks of 32 do not cross groups;
//   q4_0 -> i4(group=32,scale=f16), q8_0 -> i8(group=32,scale=f16);
//   i4(group=N,zero,scale=f16) -> q4_1, whose minimum, the zero point times the scale, is rounded to f16: that alone differs.
// t is the whole of its storage, in its order.
Tensor rearranged(const Tensor& t, DType to);

}  // namespace dyadic::inline v1::io
