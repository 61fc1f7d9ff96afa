// Matrix products on the device: how one is cut and by which kernel it is made, decided from geometry alone; then run on
// memory. The same operands give the same bits. Where cuBLASLt is there (library.h) it makes large products, else kernels of
// our own do.
#pragma once
#include "plugins/cuda/products/sides.h"

namespace dyadic::gpu {

// What is multiplied and added: integers wrap; bf16 and f16 are added in f32 and rounded once.
enum class Math : uint8_t { f32, f64, bf16, f16, i32, i64, c64, c128 };
Code own_code(Math m);       // of operands that are read as they lie
int64_t math_bytes(Math m);  // of a sum

struct GemmSide {
  Code code = Code::none;  // none: blocked
  SideSteps steps{};
  const Format* format = nullptr;  // of a blocked one, of whose storage
  Geometry geometry{};
  int64_t first = 0;  // this element comes first
};

enum class Way : uint8_t { empty, tiles, large_tiles, few, mma, small_mma, flat_mma, stored };

// c[m, n] = a[m, k] b[k, n] (+ bias[n]), for each of a batch.
struct Gemm {
  Math math = Math::f32;
  ProductShape shape{};
  GemmSide a, b;  // one at most is blocked: the right one, of a format that stored_reads()
  Code out = Code::f32, bias = Code::none, bias_as = Code::none;  // bias_as: what a bias is rounded to first
  int64_t row = 0, column = 1, entries[kMaxBatchDims];            // of c, in elements
  int64_t bias_step = 1;
  int dropped = 0;  // bits of f32 operands: 13 as tf32, 16 as bf16
  // Decided by plan_gemm:
  Way way = Way::empty;
  bool swapped = false;  // c^T = b^T a^T
  bool library = false;  // cuBLASLt is asked first
  int across = 0;        // few_rows.h makes it, with so many warps side by side, where memory is aligned
  int64_t workspace = 0;
};
struct GemmPointers {
  const void *a, *b, *bias;
  void *c, *workspace;
};
void plan_gemm(Gemm& g);
void run_gemm(const Gemm& g, const GemmPointers& at);

// What kernels are handed of a plan.
template <class T> Result<T> result_of(const Gemm& g, const GemmPointers& at) {
  Result<T> r{at.c,   g.out,     g.row,       g.column, {}, g.bias == Code::none ? nullptr : at.bias,
              g.bias, g.bias_as, g.bias_step, g.swapped};
  for (int d = 0; d < g.shape.dims; ++d) r.entries[d] = g.entries[d];
  return r;
}
template <class T> Strided<T> strided(const GemmSide& side, const void* at) {
  return {static_cast<const T*>(at), side.steps.k == 1, side.steps};
}
template <class T> Coded<T> coded(const GemmSide& side, const void* at, int dropped = 0) {
  return {at, side.steps.k == 1, side.code, dropped, side.steps};
}
template <class H> Dense16<H> dense16(const GemmSide& side, const void* at, const ProductShape& s) {
  const SideSteps& o = side.steps;
  const bool along_k = o.k == 1 || o.line != 1;
  bool whole = (along_k ? o.k == 1 && o.line % 8 == 0 : o.k % 8 == 0) && is_aligned(at);
  for (int d = 0; d < s.dims; ++d) whole &= o.entries[d] % 8 == 0;
  return {static_cast<const uint16_t*>(at), along_k, whole, o};
}
template <class H> Coded16<H> coded16(const GemmSide& side, const void* at) {
  return {coded<float>(side, at), side.steps.k == 1 || side.steps.line != 1};
}
inline Grid tile_grid(const ProductShape& s, int rows, int columns, int threads) {
  constexpr int64_t kMost = 1 << 30;  // kernels go on by strides of the grid
  const int64_t tiles = TilePlace::count(s, rows, columns);
  return {.blocks = tiles < kMost ? tiles : kMost, .threads = threads};
}
// The sum of the parts that k was cut into.
template <class T, class C> void finish_parts(const ProductShape& s, const C& c, const void* partial) {
  if (s.parts > 1) launch(add_parts<T, C>, grid_for(s.m * s.n * s.batch), static_cast<const T*>(partial), c, s);
}
// Cuts k where tiles are few, at multiples of `step`: by the shape alone. Gives the bytes of the parts.
int64_t cut_parts(ProductShape& s, int64_t tiles, int64_t least_depth, int64_t sum_bytes, int64_t step = 64);

void run_mma(const Gemm& g, const GemmPointers& at);  // gemm16.cu

// Products of few rows of 16-bit numbers: of shapes that few_rows.h has; false: of memory that it does not read.
bool few_stored(const Gemm& g);  // whether it decodes the right side
bool run_few_dense(const Gemm& g, const GemmPointers& at);
bool run_few_stored(const Gemm& g, const GemmPointers& at);

// Products whose right operand is stored in a blocked format, which is decoded in registers: stored.cu.
bool stored_reads(const Gemm& g);  // of math, sizes, and both sides
void run_stored(const Gemm& g, const GemmPointers& at);
bool stored_by_sums(const Gemm& g);  // few rows: as dot products along lines of the weight

}  // namespace dyadic::gpu
