// finfo and iinfo: the limits of a dtype, printed as PyTorch prints them.
#pragma once
#include <cstdint>
#include <string>

#include "dyadic/dtype.h"

namespace dyadic::inline v1 {

// Limits of a plain float dtype. resolution is 10^-digits (rounded to the dtype where it has at most 8 bits); formats without
// negative numbers have min = smallest_normal. TypeError for other dtypes.
struct FInfo {
  DType dtype;
  int bits = 0, digits = 0;  // digits: decimal ones that survive a round trip
  double resolution = 0, min = 0, max = 0, eps = 0, smallest_normal = 0, smallest_subnormal = 0;
  std::string str() const;
};
FInfo finfo(DType dtype);

// Limits of an integer dtype. TypeError for other dtypes.
struct IInfo {
  DType dtype;
  int bits = 0;
  int64_t min = 0;
  uint64_t max = 0;
  std::string str() const;
};
IInfo iinfo(DType dtype);

}  // namespace dyadic::inline v1
