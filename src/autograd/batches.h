// Between entries and all of them, recorded.
#pragma once
#include "tensor/batched.h"

namespace dyadic::inline v1 {

Tensor enter_batch(const Tensor& x, int64_t dim, const LevelPtr& level);
Tensor leave_batch(const Tensor& t, int64_t dim, const LevelPtr& level);

// A gradient that goes to a node made at `since`, or (0) to a tensor over `target`: summed over the entries of vmaps that have
// ended and for which that was one and the same.
Tensor outside_gradient(Tensor g, uint64_t since, const Storage* target = nullptr);
// A gradient of t that differs between all entries that t differs between.
Tensor as_many(const Tensor& g, const Tensor& t);

}  // namespace dyadic::inline v1
