// Between the compute types, one tile at a time (convert.cpp puts them between a decode and an encode).
#pragma once
#include "base/parallel.h"
#include "formats/format.h"

namespace dyadic::inline v1 {

struct ConvertKernel {
  // As convert_compute() says.
  void (*run)(Compute from, const void* source, Compute to, void* target, int64_t n, bool to_odd);
  // The low 32 bits of the value truncated to i64: how floats and wide integers reach the integers narrower than 32 bits.
  void (*low32)(Compute from, const void* source, int32_t* target, int64_t n);
  // Integers of 8 and 16 bits to and from f32 in one pass: half the time of two.
  void (*widen)(const FormatDef& from, const void* source, float* target, int64_t n);
  void (*narrow)(const float* source, const FormatDef& to, void* target, int64_t n);
  // Those of 8 to 64 bits to each other.
  void (*integers)(const FormatDef& from, const void* source, const FormatDef& to, void* target, int64_t n);
  // target[i] = 1 where source[i] is not zero (NaN is not), else 0: into stored bools, of those integers and of f32, f64, i32,
  // i64, u64 as they are stored; into the i32 that bools are computed in.
  void (*truth)(const FormatDef& from, const void* source, uint8_t* target, int64_t n);
  void (*nonzero)(Compute from, const void* source, int32_t* target, int64_t n);
};

}  // namespace dyadic::inline v1

DY_KERNEL(ConvertKernel, convert_kernel)
