// Operands of matrix products: in place where the library reads their dtype and strides, else copied to workspace and
// converted.
#pragma once
#include "loops/gemm.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops {

// The dtype products of `d` are fed: itself for f32, f16, bf16, f64, c64, c128, i32, i64; i32 for narrower integers; for
// narrower floats bf16 where that is multiplied faster than f32.
DType gemm_type(DType d);
// What the library writes for inputs of `type` and a wanted result dtype: that one, or what is then rounded to it once.
DType gemm_result(DType type, DType wanted);

struct MatrixOperand {
  bool copied = false;
  bool turned = false;  // the copy keeps columns together, as the operand has them
  bool rounds = true;   // to the precision that f32 products are asked for
  DType type;
  int64_t bytes = 0;  // of workspace
  // Stride of the dense copy, `back` dimensions from the end.
  int64_t dense_stride(const TensorImpl& t, int back) const;
};
MatrixOperand matrix_operand(const Tensor& t, DType type, bool dense = false, bool bias = false);
const char* load_operand(const Tensor& t, const MatrixOperand& m, char* workspace);
// Elements from one matrix to the next in the batch dimension `back` from the end; 0 where it is broadcast.
int64_t batch_step(const TensorImpl& t, const MatrixOperand& m, int back);
// Elements from the first matrix to number `i` of the broadcast batch.
int64_t batch_offset(const TensorImpl& t, const MatrixOperand& m, const int64_t* batch_sizes, int batch_dims, int64_t i);

}  // namespace dyadic::inline v1::ops
