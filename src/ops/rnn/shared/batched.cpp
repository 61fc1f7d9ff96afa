#include "ops/rnn/batched.h"

#include "ops/common.h"

namespace dyadic::inline v1::ops {

// [entries, steps, rows, n] as [steps, entries rows, n], [entries, rows, n] as [entries rows, n].
bool batched_scan(BatchedCall& b, uint16_t shared) {
  const auto fold = [](const Tensor& t) { return t.dim() == 4 ? t.transpose(0, 1).flatten(1, 2) : t.flatten(0, 1); };
  const auto unfold = [&](const Tensor& t) {
    return t.dim() == 3 ? t.reshape({t.size(0), b.entries, t.size(1) / b.entries, t.size(2)}).transpose(0, 1) : t;
  };
  return b.entries > 0 && b.folded(shared, fold, unfold);
}

}  // namespace dyadic::inline v1::ops
