// Tensors from vectors of doubles.
#pragma once
#include <cstring>
#include <vector>

#include "dyadic/dyadic.h"

namespace dyadic::test {

inline Tensor tensor_of(const std::vector<double>& values, DType dtype) {
  Tensor t = empty({int64_t(values.size())}, f64);
  std::memcpy(t.data_ptr(), values.data(), values.size() * sizeof(double));
  return t.to(dtype);
}

}  // namespace dyadic::test
