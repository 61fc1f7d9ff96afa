// What the reduction ops share: which dimensions go, and how any layout becomes the [outer, n, inner] the kernel reads.
#pragma once
#include "ops/common.h"
#include "ops/reduce/reduce_kernel.h"

namespace dyadic::inline v1::ops {

// Of op(self, dim, [..,] keepdim): `dim` is a list, a number or absent (all dimensions).
uint32_t reduced_dims(const char* who, IntList sizes, const Arg& dim);  // bit d: dimension d goes
void infer_reduction(Call& c, int keepdim_arg, DType result);
// An extreme of no elements does not exist; of no rows there are none. As PyTorch's: an IndexError where a dimension is named
// or the result is an index.
void check_comparable(const Call& c, bool index = false);
void plan_reduction(Call& c, ReduceOp op);
template <ReduceOp kOp> void plan_reduction(Call& c) { plan_reduction(c, kOp); }
// The gradient (or a result kept without the reduced dimensions) with those dimensions back as size 1.
Tensor keep_dims(const Tensor& t, const Meta& input, const Arg& dim);
// The gradient of an extreme `out` of x: equal ones share it.
Tensor share_among(const Tensor& x, const Tensor& out, const Tensor& grad, const Meta& input, const Arg& dim);
int64_t reduced_count(const Meta& input, const Arg& dim);
inline double reduction_flops(const Call& c) { return double(c.tensor(0).numel()); }

// A sum of what the reduction makes of each element of a floating-point tensor, op(self, dim, keepdim).
template <ReduceOp kOp> struct FloatSum {
  static void infer(Call& c) {
    check_float(c.name, c.tensor(0), "self");
    infer_reduction(c, 2, plain(c.tensor(0)));
  }
  static double flops(const Call& c) { return 2 * reduction_flops(c); }  // mapped and added
};

}  // namespace dyadic::inline v1::ops
