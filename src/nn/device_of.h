// Where a module computes: where its parameters are.
#pragma once
#include "dyadic/nn.h"

namespace dyadic::inline v1::nn {

inline Device device_of(const Module& m) {
  const std::vector<Tensor> parameters = m.parameters();
  return parameters.empty() ? cpu : parameters[0].device();
}

}  // namespace dyadic::inline v1::nn
