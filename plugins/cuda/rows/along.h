// Dense tensors as kernels along one dimension see them: [outer, n, inner].
#pragma once
#include "tensor/impl.h"

namespace dyadic::gpu {

// Rules have checked `dim`; a 0-d tensor is one entry.
struct Along {
  int64_t outer = 1, n = 1, inner = 1;
  Along(const TensorImpl& t, int64_t dim) {
    if (dim < 0) dim += t.ndim;
    for (int d = 0; d < t.ndim; ++d) (d < dim ? outer : d == dim ? n : inner) *= t.sizes[d];
  }
};

}  // namespace dyadic::gpu
