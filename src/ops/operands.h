// The arguments and results of a call as kernels take them.
#pragma once
#include "loops/operand.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops {

inline Source source_of(const Tensor& t) { return {t.impl()->data(), t.dtype().format()}; }
inline Target target_of(const Tensor& t) { return {t.impl()->data(), t.dtype().format()}; }
// Empty for an argument that is not given and a result that is not wanted.
inline Source source_of(const Call& c, int i) { return c.has(i) ? source_of(c.tensor(i)) : Source{}; }
inline Target target_of(const Call& c, int i = 0) { return c.out[i].defined() ? target_of(c.out[i]) : Target{}; }

}  // namespace dyadic::inline v1::ops
