// The register tile of vdpbf16ps and the packing of bf16 rows into pairs for it. Only for files that are compiled per
// instruction set; empty but for AVX-512.
#pragma once
#include "ops/nn/attention_blocks.h"

#if DY_ISA_avx512
#define DY_BF16 __attribute__((target("avx512bf16")))

namespace dyadic::DY_ISA {

struct DotArgs {
  int64_t k;  // pairs
  const uint32_t* a;
  int64_t a_row, a_col;
  const uint32_t* b;
  int64_t b_row;
  float* c;
  int64_t c_row;
  bool add;
};

template <int MR, int NV> DY_BF16 [[gnu::noinline]] static void micro_dot(const DotArgs& g) {
  __m512 acc[MR][NV];
  DY_UNROLL for (int i = 0; i < MR; ++i) DY_UNROLL for (int j = 0; j < NV; ++j) acc[i][j] = _mm512_setzero_ps();
  constexpr int P = (MR + 2) / 3;  // as in gemm_micro.h
  const int64_t a_row = g.a_row, a_col = g.a_col, b_row = g.b_row;
  const uint32_t *a[P], *b = g.b;
  DY_UNROLL for (int i = 0; i < P; ++i) a[i] = g.a + 3 * i * a_row;
  for (int64_t p = g.k; p > 0; --p) {
    __m512bh bv[NV];
    DY_UNROLL for (int j = 0; j < NV; ++j) bv[j] = (__m512bh)_mm512_loadu_si512(b + j * 16);
    DY_UNROLL for (int i = 0; i < MR; ++i) {
      const __m512bh av = (__m512bh)_mm512_set1_epi32(int(a[i / 3][i % 3 * a_row]));
      DY_UNROLL for (int j = 0; j < NV; ++j) acc[i][j] = _mm512_dpbf16_ps(acc[i][j], av, bv[j]);
    }
    b += b_row;
    DY_UNROLL for (int i = 0; i < P; ++i) a[i] += a_col;
  }
  if (g.add)
    DY_UNROLL for (int i = 0; i < MR; ++i) DY_UNROLL for (int j = 0; j < NV; ++j) acc[i][j] =
        _mm512_add_ps(acc[i][j], _mm512_loadu_ps(g.c + i * g.c_row + j * 16));
  DY_UNROLL for (int i = 0; i < MR; ++i) DY_UNROLL for (int j = 0; j < NV; ++j)
      _mm512_storeu_ps(g.c + i * g.c_row + j * 16, acc[i][j]);
}
template <int NV> inline void micro_of(int64_t rows, const DotArgs& g) {
  if (rows == 12) return micro_dot<12, NV>(g);
  if (rows == 8) return micro_dot<8, NV>(g);
  if (rows == 4) return micro_dot<4, NV>(g);
  if (rows == 2) return micro_dot<2, NV>(g);
  return micro_dot<1, NV>(g);
}
constexpr int64_t pairs(int64_t n) { return (n + 1) / 2; }

// rows x d elements as rows of `width` (even), zeros behind, and a row of zeros behind an odd count.
static void copy_rows(const uint16_t* from, int64_t stride, int64_t rows, int64_t d, uint16_t* to, int64_t width) {
  for (int64_t i = 0; i < rows; ++i) {
    if (i + kAhead < rows) prefetch_row(from + (i + kAhead) * stride, d);
    for (int64_t j = 0; j < d; ++j) to[i * width + j] = from[i * stride + j];
    for (int64_t j = d; j < width; ++j) to[i * width + j] = 0;
  }
  if (rows % 2 != 0)
    for (int64_t j = 0; j < width; ++j) to[rows * width + j] = 0;
}
// Pairs of rows: to[p][j] = (x[2p][j], x[2p + 1][j]).
static void pair_rows(const uint16_t* x, int64_t rows, int64_t width, uint32_t* to) {
  for (int64_t p = 0; p < pairs(rows); ++p)
    for (int64_t j = 0; j < width; ++j) to[p * width + j] = x[2 * p * width + j] | uint32_t(x[(2 * p + 1) * width + j]) << 16;
}
// Pairs along a row, transposed: to[p][i] = (x[i][2p], x[i][2p + 1]); zeros up to whole register tiles.
static void pair_columns(const uint16_t* x, int64_t rows, int64_t width, int64_t d, uint32_t* to, int64_t to_row) {
  transpose_block((const float*)x, width / 2, rows, pairs(d), (float*)to, to_row);  // moves bits only
  for (int64_t p = 0; p < pairs(d); ++p)
    for (int64_t i = rows; i < up_to(rows, 32); ++i) to[p * to_row + i] = 0;
}
DY_BF16 static inline void store_bf16(__m512 x, uint16_t* to) {
  _mm256_storeu_si256((__m256i*)to, (__m256i)_mm512_cvtneps_pbh(x));
}
DY_BF16 static inline __m512i widen(__m512 x) { return _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(x)); }
static void zero16(uint16_t* p, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = 0;
}

}  // namespace dyadic::DY_ISA
#endif
