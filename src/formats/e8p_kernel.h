// What a method that chooses e8p's words itself needs (quant/methods/ldlq.cpp). Bases and words: block/e8p.h.
#pragma once
#include "base/parallel.h"

namespace dyadic::inline v1 {

struct E8pKernel {
  // Runs of 128 elements, turned where they stand.
  void (*turn)(float* x, int64_t blocks);
  // One block of a row, turned: w [128] becomes what its words, written to `block`, say. After each 8 elements that are rounded
  // the error they leave, e, goes on: with c U_BB = e, w_k -= c U_Bk for those that follow, and c is kept in errors [128] for
  // the columns behind the block. u [128, 128]: upper triangular, of those columns.
  void (*round_block)(float* w, float* errors, const float* u, uint8_t* block);
};

}  // namespace dyadic::inline v1

DY_KERNEL(E8pKernel, e8p_kernel)
