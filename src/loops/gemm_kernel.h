// The blocked products of one tile, compiled once per instruction set: gemm.cpp cuts the work into tiles and hands them out.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "loops/stored.h"

namespace dyadic::inline v1 {

// c[m, n] = a[m, k] b[k, n] (+ bias[n]) (+ c), summed over k in order. Strides in elements, of any value.
struct GemmTile {
  int64_t m, n, k;
  const void* a;
  int64_t a_row, a_col;
  const void* b;
  int64_t b_row, b_col;
  void* c;
  int64_t c_row, c_col;  // c_col is 1 but for `few`
  const void* bias;      // of the compute type, at [i * bias_row + j * bias_col]; or null. `blocked` wants steps 0 and 1
  int64_t bias_row, bias_col;
  bool accumulate;
  const Stored* stored;  // null: b is as a is. Else b is its storage, and element (i, j) number b_first + i b_row + j b_col
  int64_t b_first;       // the tile's first element in storage order
  const void* packed;    // `blocked`: all of b as `pack` left it, of which this tile begins at column packed_col; or null
  int64_t packed_col, packed_cols;
  void* scratch;  // as many bytes as the scratch function says, aligned to 64
};

// c[i, j] = sum over p of part[p][i, j] (+ bias) (+ c[i, j]), the sum in a balanced tree; rows [begin, end) of it.
struct GemmParts {
  int64_t parts, m, n;
  const void* part;  // parts x m x n of the compute type
  void* c;
  int64_t c_row, c_col;
  const void* bias;
  int64_t bias_row, bias_col;
  bool accumulate;
};

// Products whose operands lie these elements apart.
struct GemmBatch {
  int64_t count, a_step, b_step, c_step;
};

// The strides of a tile's b once it is decoded: as it lies, densely.
inline void stored_strides(GemmTile& t, int64_t k, int64_t n) {
  const bool rows = t.b_col == 1 && n > 1;
  t.b_row = rows ? n : 1, t.b_col = rows ? 1 : k;
}

// One pair of storage types: f32 -> f32, bf16 -> f32, ...
struct GemmFunctions {
  void (*blocked)(const GemmTile&);
  // m <= kGemmFew, a unit stride in b: reads b once, where it lies; scratch: m x k of a's type. None for complex numbers
  void (*few)(const GemmTile&);
  void (*pack)(const GemmTile&, int64_t begin, int64_t end);  // panels [begin, end) of b into `packed`, packed_cols = n
  void (*combine)(const GemmParts&, int64_t begin, int64_t end);
  void (*tiny)(const GemmTile&, const GemmBatch&);  // n <= kTinyCols, k <= kTinyDepth. None for complex numbers and integers
};
inline constexpr int64_t kGemmFew = 4, kTinyDepth = 16;
inline constexpr int64_t kFewCols = 4, kFewRows = 8, kFewStrip = 512;  // `few`: columns at once, or rows of a strip
inline constexpr int64_t kGemmAlign = 128;
template <class T> inline constexpr int64_t kTinyCols = 64 / sizeof(T);

struct GemmKernel {
  GemmFunctions f32, bf16_f32, bf16, f16_f32, f16, f64, c64, c128, i32, i64;
  // narrow: c has fewer bytes than that; own: b is packed by the tile
  size_t (*scratch)(int64_t m, int64_t n, int64_t k, int64_t compute_bytes, bool narrow, bool own);
  size_t (*packed)(int64_t n, int64_t k, int64_t compute_bytes);  // bytes
  size_t (*stored)(int64_t k, int64_t n, int64_t compute_bytes);  // bytes more for a b that is decoded while packed
  int64_t rows, cols_f32;                                         // of the register tile
};

}  // namespace dyadic::inline v1

DY_KERNEL(GemmKernel, gemm_kernel)
