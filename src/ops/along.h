// A tensor as [outer, n, inner] around one of its dimensions.
#pragma once
#include "ops/common.h"

namespace dyadic::inline v1::ops {

struct AlongDim {
  int64_t outer = 1, n = 1, inner = 1;  // a 0-d tensor is one entry
  AlongDim(const char* who, IntList sizes, int64_t dim) {
    const auto count = int64_t(sizes.size());
    dim = wrap_dim(who, dim, count);
    for (int64_t d = 0; d < count; ++d) (d < dim ? outer : d == dim ? n : inner) *= sizes[size_t(d)];
  }
};

}  // namespace dyadic::inline v1::ops
