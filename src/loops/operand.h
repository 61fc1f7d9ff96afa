// What raw kernels are handed: memory and the format of its elements. Data is contiguous; null data stands for an absent
// operand.
#pragma once
#include <cstdint>

#include "formats/format.h"

namespace dyadic::inline v1 {

struct Source {
  const void* data = nullptr;
  const Format* format = nullptr;
};
struct Target {
  void* data = nullptr;
  const Format* format = nullptr;
};

}  // namespace dyadic::inline v1
