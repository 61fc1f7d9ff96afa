// Cross entropy of logits [rows, classes] against class indices, fused: the softmax is never stored.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

struct CrossEntropyShape {
  int64_t rows = 0, classes = 0;
  int64_t ignore_index = -100;
  double label_smoothing = 0;  // in [0, 1]: the target is (1 - s) of the class plus s / classes of every class
};

// Logits are f64 or any other float format; losses, lse and grad are [rows] of the compute type (f64, else f32).
struct CrossEntropyKernel {
  // loss[r] = lse[r] - logits[r, target], lse[r] = log(sum(exp(logits[r, :]))); both 0 where the target is ignore_index.
  // Returns -1, or the first row whose target is no class (nothing has been written then).
  int64_t (*forward)(const CrossEntropyShape& shape, Source logits, const int64_t* targets, void* loss, void* lse);
  // dlogits[r, :] = (softmax(logits[r, :]) - target distribution) * grad[r * grad_step] * scale, one pass, rounded once; zeros
  // where the target is ignored. grad_step is 1 (per row) or 0 (one value). dlogits may be logits. Targets have passed
  // `forward`.
  void (*backward)(const CrossEntropyShape& shape, Source logits, const int64_t* targets, const void* lse, const void* grad,
                   int64_t grad_step, double scale, Target dlogits);
  // The sum of the losses, in a fixed order, into *sum; returns how many rows count (their mean is *sum / that, NaN for none).
  int64_t (*total)(const CrossEntropyShape& shape, const void* loss, Compute compute, const int64_t* targets, double* sum);
};

}  // namespace dyadic::inline v1

DY_KERNEL(CrossEntropyKernel, cross_entropy_kernel)
