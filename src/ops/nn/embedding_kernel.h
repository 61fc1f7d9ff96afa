// Rows gathered by index, and their gradient added up by index.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

struct EmbeddingShape {
  int64_t rows = 0, dim = 0;  // of the weight
  int64_t count = 0;          // of the indices
};

// Both return -1, or the first position whose index is not in [0, rows) (nothing has been written then). Threads inside.
struct EmbeddingKernel {
  // out[i, :] = weight[index[i], :], copied by width: any scalar format.
  int64_t (*gather)(const EmbeddingShape& shape, const void* weight, int64_t itemsize, const int64_t* index, void* out);
  // dweight[v, :] = (accumulate ? dweight[v, :] : 0) + the sum of grad[i, :] over i with index[i] = v, in the order of i, taken
  // in f64 if grad is f64, else in f32, and rounded once; `mean`: the sum divided by the count of such i. Positions with
  // index[i] = skip add nothing (skip = -1: all do).
  int64_t (*scatter_workspace)(const EmbeddingShape& shape);  // bytes
  int64_t (*scatter)(const EmbeddingShape& shape, Source grad, const int64_t* index, int64_t skip, Target dweight,
                     bool accumulate, bool mean, void* workspace);
};

}  // namespace dyadic::inline v1

DY_KERNEL(EmbeddingKernel, embedding_kernel)
