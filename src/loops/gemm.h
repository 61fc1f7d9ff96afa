// Dense matrix products on raw pointers, threaded and deterministic: the bits depend on shape, strides, dtypes and instruction
// set, never on threads, alignment or earlier calls. Kernels never allocate: the caller provides the workspace.
//
// The f32 and f64 products are our own blocked kernels (gemm_kernel.cpp); f16 and bf16 run on them too, decoded while packing,
// unless the processor multiplies bf16 faster than f32 (gemm_bf16.h): then oneDNN does it (gemm_onednn.cpp). Convolution and
// 8-bit products don't live here.
//
// b may be of any format that decodes to the type of the product, scaled ones among them: it is decoded where it is packed, a
// few rows at a time, and never exists as a whole.
#pragma once
#include <cstddef>
#include <cstdint>

#include "formats/format.h"

namespace dyadic::inline v1 {

struct Matrix {
  DType dtype;
  int64_t row_stride, col_stride;  // in elements; any value: 0 broadcasts, negative ones walk backwards
  int64_t first = 0;               // b of a blocked format: its first element and its storage's geometry
  Geometry geometry{};
};

// c[m, n] = a[m, k] b[k, n] (+ bias[n]) (+ c). a's dtype is the product's: f32 -> f32, f16 or bf16 -> f32 or itself, f64 ->
// f64, c64 -> c64, c128 -> c128 (no bias), i32 -> i32, i64 -> i64 (integers wrap). f16 and bf16 are summed in f32 and rounded
// once. c's column stride is 1; c overlaps neither a, b nor bias.
struct GemmCall {
  int64_t m, n, k;
  Matrix a, b;
  DType c_dtype;
  int64_t c_row_stride;
  DType bias_dtype{};  // set: a bias is added. c's dtype, or any float of 16 or 32 bits where c has one
  bool accumulate = false;
};
struct BatchedGemm {
  GemmCall one;
  int64_t batch = 1;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;  // in elements; 0 for a and b broadcasts; the bias is shared
};
struct GemmPointers {
  const void *a, *b;
  void* c;
  const void* bias = nullptr;
  void* workspace = nullptr;  // any alignment will do
  int64_t b_first = 0;        // of a decoded b: elements of storage order to begin at, beside Matrix::first
};

// Whether a product of `type` can read a b of this dtype where it lies, beside its own.
bool gemm_reads(DType type, DType b);

int64_t gemm_calls();  // run_gemm since the process began

}  // namespace dyadic::inline v1
