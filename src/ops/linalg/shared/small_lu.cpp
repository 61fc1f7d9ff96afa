#include "ops/linalg/small_lu.h"

namespace dyadic::inline v1::ops {

bool one_step(const Operand& t, IntList batch, int64_t& step) {
  const int64_t n = int64_t(batch.size()), ahead = n - (t.ndim - 2);
  int64_t matrices = 1;  // of the dimensions looked at
  step = 0;
  for (int64_t d = n; d-- > 0;) {
    const int64_t size = batch[size_t(d)];
    if (size == 1) continue;
    const int64_t stride = d < ahead || t.lengths[d - ahead] == 1 ? 0 : t.steps[d - ahead];
    if (matrices == 1) step = stride;
    if (stride != step * matrices) return false;
    matrices *= size;
  }
  return true;
}

}  // namespace dyadic::inline v1::ops
