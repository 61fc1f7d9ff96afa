// What a method that chooses aqlm's codes itself needs (quant/methods/aqlm.cpp). Codebooks and codes: block/aqlm.h.
#pragma once
#include "base/parallel.h"

namespace dyadic::inline v1 {

struct AqlmKernel {
  // codes [n, books]: of each vector of x [n, 8] a word of each codebook, so that their sum is near. words [books, 2^bits, 8].
  void (*search)(const float* words, int64_t books, int bits, const float* x, int64_t n, uint8_t* codes);
  // A row's codes as the format keeps them, n of them.
  void (*pack)(const uint8_t* codes, int64_t n, int bits, uint8_t* row);
};

}  // namespace dyadic::inline v1

DY_KERNEL(AqlmKernel, aqlm_kernel)
