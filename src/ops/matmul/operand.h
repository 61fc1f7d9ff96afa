// Products of matrices as op files plan them: operands in place where the library reads their format and strides, else copied
// to workspace and converted; a stored weight is decoded by the product itself, a few rows at a time.
#pragma once
#include "loops/gemm_plan.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops {

// The dtype products of `d` are fed: itself for f32, f16, bf16, f64, c64, c128, i32, i64; i32 for narrower integers; for
// narrower floats bf16 where that is multiplied faster than f32.
DType gemm_type(DType d);
// What the library writes for inputs of `type` and a wanted result dtype: that one, or what is then rounded to it once.
DType gemm_result(DType type, DType wanted);

enum class Side : uint8_t { left, right, bias };

struct MatrixOperand {
  Operand given{};
  DType type;
  bool copied = false;  // to workspace, converted
  bool turned = false;  // the copy keeps columns together, as the operand has them
  bool rounds = false;  // to the precision that f32 products are asked for
  bool bands = false;   // of a blocked left operand: some rows at a time
  int64_t bytes = 0;    // of workspace

  MatrixOperand() = default;
  MatrixOperand(const Operand& o, DType type, Side side, bool dense = false);
  int64_t step(int back) const;        // elements to the next in the dimension `back` from the end, as it is then read
  int64_t batch_step(int back) const;  // the same; 0 where it is broadcast or absent
  const char* load(const void* data, char*& workspace) const;
  Matrix matrix(int64_t row_stride, int64_t col_stride) const;
};

// c = a b (+ bias), for every entry of a batch. The last dimensions of the batch lie one stride apart and are one product;
// there are `outer` such.
struct Product {
  int64_t m, n, k;
  int batch_dims = 0;
  int64_t batch_sizes[kMaxDims];
  MatrixOperand a, b, bias;
  int64_t a_steps[kMaxDims], b_steps[kMaxDims];  // of the batch's dimensions
  GemmPlan gemm, last;                           // `last`: of the last band of rows
  int64_t outer = 1, batch = 1, band = 0;        // band: rows, where the left operand is decoded in bands
  Operand out, result;                           // result: what the library writes, where it is not `out`
  bool direct = true;

  int64_t entries() const;
};
// Of a product whose sizes, operands and batch are set: everything else, as the call's plan. Strides of a and b in elements.
struct ProductStrides {
  int64_t a_row, a_col, b_row, b_col;
};
void plan_product(Call& c, Product& p, const ProductStrides& s);
void run_product(const Product& p, const Pointers& at);

}  // namespace dyadic::inline v1::ops
