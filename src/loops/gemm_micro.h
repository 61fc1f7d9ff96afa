// The register tile of the blocked products (gemm, attention): c[MR, NV vectors] += a[MR, k] b[k, NV vectors]. One side is
// broadcast, with any strides; the other is rows of vectors. Only for files that are compiled per instruction set.
#pragma once
#include <cstdint>

#include "base/simd/simd.h"

// Loops over registers have to vanish: left to itself, g++ 12 keeps some of these arrays in memory.
#ifdef __clang__
#define DY_UNROLL _Pragma("clang loop unroll(full)")
#else
#define DY_UNROLL _Pragma("GCC unroll 16")
#endif

namespace dyadic::DY_ISA {
namespace hn = hwy::HWY_NAMESPACE;

template <class T> inline constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());

// Rows of the register tile; it is two vectors wide. AVX-512: 24 of 32 registers accumulate; 14 x 2, 8 x 3 and 9 x 3 measured
// the same, 6 x 4 lost 8 % beyond k = 192. AVX2 and SSE4: 12 of 16.
#if DY_ISA_avx512
inline constexpr int kMicroRows = 12;
#else
inline constexpr int kMicroRows = 6;
#endif
template <class T> inline constexpr int64_t kMicroCols = 2 * kLanes<T>;

template <class T> struct MicroArgs {
  int64_t k;
  const T* a;  // broadcast side
  int64_t a_row, a_col;
  const T* b;  // k rows of vectors
  int64_t b_row;
  T* c;
  int64_t c_row;
  const T* start;  // added to every row of c, or null
  bool add;        // c is added to (else overwritten)
};

// The tile below runs as it is under the address sanitizer, which makes hundreds of instructions of each multiplication:
// whether what it reads and writes first and last is there, is asked before.
#ifdef __SANITIZE_ADDRESS__
extern "C" void* __asan_region_is_poisoned(void*, size_t);
template <class T> static void check_region(const T* at, int64_t n) {
  if (void* bad = __asan_region_is_poisoned(const_cast<T*>(at), size_t(n) * sizeof(T)))
    *static_cast<volatile char*>(bad);  // the sanitizer's own report
}
#define DY_AS_IT_IS [[gnu::no_sanitize("address,undefined")]]
#else
#define DY_AS_IT_IS
#endif

template <int MR, int NV, class T> [[gnu::noinline]] DY_AS_IT_IS static void micro(const MicroArgs<T>& g) {
  constexpr hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t L = kLanes<T>;
  V acc[MR][NV];
  DY_UNROLL for (int i = 0; i < MR; ++i) DY_UNROLL for (int j = 0; j < NV; ++j) acc[i][j] = hn::Zero(d);
  // Every third row has a pointer: the two after it are at strides that x86 adds for nothing. A pointer per row would spill.
  constexpr int P = (MR + 2) / 3;
  const int64_t a_row = g.a_row, a_col = g.a_col, b_row = g.b_row;
  const T *a[P], *b = g.b;
  DY_UNROLL for (int i = 0; i < P; ++i) a[i] = g.a + 3 * i * a_row;
  for (int64_t p = g.k; p > 0; --p) {
    V bv[NV];
    DY_UNROLL for (int j = 0; j < NV; ++j) bv[j] = hn::LoadU(d, b + j * L);
    DY_UNROLL for (int i = 0; i < MR; ++i) {
      const V av = hn::Set(d, a[i / 3][i % 3 * a_row]);
      DY_UNROLL for (int j = 0; j < NV; ++j) acc[i][j] = hn::MulAdd(av, bv[j], acc[i][j]);
    }
    b += b_row;
    DY_UNROLL for (int i = 0; i < P; ++i) a[i] += a_col;
  }
  T* c = g.c;
  const int64_t c_row = g.c_row;
  if (g.start)
    DY_UNROLL for (int i = 0; i < MR; ++i) DY_UNROLL for (int j = 0; j < NV; ++j) acc[i][j] =
        hn::Add(acc[i][j], hn::LoadU(d, g.start + j * L));
  if (g.add)
    DY_UNROLL for (int i = 0; i < MR; ++i) DY_UNROLL for (int j = 0; j < NV; ++j) acc[i][j] =
        hn::Add(acc[i][j], hn::LoadU(d, c + i * c_row + j * L));
  DY_UNROLL for (int i = 0; i < MR; ++i) DY_UNROLL for (int j = 0; j < NV; ++j) hn::StoreU(acc[i][j], d, c + i * c_row + j * L);
}

// Rows of the next register tile when m are left: the largest that fit, but 16 are two eights rather than twelve and four,
// which would leave the multipliers idle half the time.
constexpr int64_t next_rows(int64_t m) {
  if (m >= kMicroRows && (kMicroRows < 8 || m != 16)) return kMicroRows;
  if (kMicroRows > 8 && m >= 8) return 8;
  return m >= 4 ? 4 : m >= 2 ? 2 : 1;
}
template <int NV, class T> static inline void micro_of(int64_t rows, const MicroArgs<T>& g) {
#ifdef __SANITIZE_ADDRESS__
  constexpr int64_t wide = NV * kLanes<T>;
  for (const int64_t p : {int64_t(0), g.k - 1}) {
    if (g.k == 0) break;
    for (int64_t i = 0; i < rows; ++i) check_region(g.a + i * g.a_row + p * g.a_col, 1);
    check_region(g.b + p * g.b_row, wide);
  }
  for (int64_t i = 0; i < rows; ++i) check_region(g.c + i * g.c_row, wide);
  if (g.start) check_region(g.start, wide);
#endif
  if (rows == kMicroRows) return micro<kMicroRows, NV>(g);
  if constexpr (kMicroRows > 8)
    if (rows == 8) return micro<8, NV>(g);
  if (rows == 4) return micro<4, NV>(g);
  if (rows == 2) return micro<2, NV>(g);
  return micro<1, NV>(g);
}
// m rows of a tile NV vectors wide.
template <int NV, class T> static void micro_rows(int64_t m, MicroArgs<T> g) {
  while (m > 0) {
    const int64_t rows = next_rows(m);
    micro_of<NV>(rows, g);
    g.a += rows * g.a_row, g.c += rows * g.c_row, m -= rows;
  }
}

}  // namespace dyadic::DY_ISA
