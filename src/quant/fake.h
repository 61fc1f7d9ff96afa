// Weights and inputs seen through a format: rounded in forward, as if they were not in backward (Bengio, Leonard, Courville
// 2013, arXiv:1308.3432).
#pragma once
#include <optional>

#include "dyadic/quant.h"

namespace dyadic::inline v1::quant {

// Integers times plain scales: the codes that a format has.
struct IntegerCodes {
  int64_t low, high;
  bool zero;  // with a zero point for each scale
};
std::optional<IntegerCodes> integer_codes(DType format);

// x's values are `values`; its gradient is that of `through`.
Tensor straight_through(const Tensor& values, const Tensor& through);

// A weight in its format and back.
Tensor through_format(const Tensor& w, DType format, bool filters);
// The same under scales that are learned, f32 [scales]: codes from low to high times their scale. Its gradient for w is 1 where
// the code is not cut off, for a scale code - w / scale there and the code else, over sqrt(weights of the scale x high) (Esser
// et al. 2020, "Learned Step Size Quantization", arXiv:1902.08153, equations 3 and 4, section 2.2).
Tensor through_scales(const Tensor& w, const Tensor& scale, DType format, bool filters);
Tensor first_scales(const Tensor& w, DType format, bool filters);  // 2 mean |w| / sqrt(high) (section 2.1)
Tensor stored_with_scales(const Tensor& w, const Tensor& scale, DType format, bool filters);

// x under one scale and a zero point, which is a code.
Tensor through_scale(const Tensor& x, const Tensor& scale, double zero, const IntegerCodes& codes);

}  // namespace dyadic::inline v1::quant
