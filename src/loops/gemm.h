// Dense matrix products on raw pointers, threaded and deterministic: the bits depend on shape, strides, dtypes and instruction
// set, never on threads, alignment or earlier calls. Kernels never allocate: the caller provides the workspace.
//
// The f32 and f64 products are our own blocked kernels (gemm_kernel.cpp); f16 and bf16 run on them too, decoded while packing,
// unless the processor multiplies bf16 faster than f32 (gemm_bf16.h): then oneDNN does it (gemm_onednn.cpp). Convolution and
// 8-bit products don't live here.
#pragma once
#include <cstddef>
#include <cstdint>

#include "dyadic/dtype.h"

namespace dyadic::inline v1 {

struct Matrix {
  const void* data;
  DType dtype;
  int64_t row_stride, col_stride;  // in elements; any value: 0 broadcasts, negative ones walk backwards
};

// c[m, n] = a[m, k] b[k, n] (+ bias[n]) (+ c). a and b have one dtype: f32 -> f32, f16 or bf16 -> f32 or itself, f64 -> f64,
// c64 -> c64, c128 -> c128 (no bias), i32 -> i32, i64 -> i64 (integers wrap). f16 and bf16 are summed in f32 and rounded once.
// c's column stride is 1; c overlaps neither a, b nor bias.
struct GemmCall {
  int64_t m, n, k;
  Matrix a, b;
  void* c;
  DType c_dtype;
  int64_t c_row_stride;
  const void* bias = nullptr;
  DType bias_dtype{};  // set: a bias is added. c's dtype, or any float of 16 or 32 bits where c has one
  bool accumulate = false;
};
struct BatchedGemm {
  GemmCall one;
  int64_t batch;
  int64_t a_stride, b_stride, c_stride;  // in elements; 0 for a and b broadcasts; the bias is shared
};

// Bytes of workspace for the present num_threads(); pointers are not looked at. Any alignment will do.
size_t gemm_workspace(const GemmCall& call);
void gemm(const GemmCall& call, void* workspace);
size_t gemm_workspace(const BatchedGemm& call);
void gemm_batched(const BatchedGemm& call, void* workspace);

int64_t gemm_calls();  // gemm and gemm_batched since the process began

}  // namespace dyadic::inline v1
