// Loading, storing and packing of matrix blocks for the blocked products: elements of storage type S (float, Bf16, F16, double)
// become rows of the compute type T. Only for files that are compiled per instruction set.
#pragma once
#include "formats/bits.h"
#include "loops/gemm_micro.h"

namespace dyadic::DY_ISA {

// 16-bit storage types; everything else is stored as it is computed.
struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};
// One part of a complex number; Note [Complex operands].
template <class T> struct Part {
  T value;
};
static inline float widen(Bf16 h) { return bf16_value(h.bits); }
static inline float widen(F16 h) { return f16_value(h.bits); }
static inline void narrow(float x, Bf16& to) { to.bits = bf16_nearest(x); }
static inline void narrow(float x, F16& to) { to.bits = f16_nearest(x); }

// One element.
template <class T, class S> static inline T load1(const S* p) {
  if constexpr (sizeof(S) == 2)
    return widen(*p);
  else
    return *p;
}
template <class S, class T> static inline void store1(T x, S* p) {
  if constexpr (sizeof(S) == 2)
    narrow(x, *p);
  else
    *p = x;
}

// A vector of T (the tag may be a part of a full vector).
template <class D> static inline hn::Vec<D> widen(D d, const Bf16* p) {
  const hn::Rebind<uint16_t, D> d16;
  const hn::RebindToUnsigned<D> d32;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, &p->bits))));
}
template <class D> static inline hn::Vec<D> widen(D d, const F16* p) {
#if DY_ISA_sse4  // has no instruction for it, and Highway's own way takes infinities for numbers
  float x[hn::MaxLanes(D())];
  for (size_t i = 0; i < hn::MaxLanes(d); ++i) x[i] = f16_value(p[i].bits);
  return hn::LoadU(d, x);
#else
  const hn::Rebind<hwy::float16_t, D> d16;
  return hn::PromoteTo(d, hn::LoadU(d16, (const hwy::float16_t*)p));
#endif
}
// Rounds to nearest even; a NaN keeps its sign and upper payload and becomes quiet.
template <class D> static inline void narrow(hn::Vec<D> x, D d, Bf16* p) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const hn::Rebind<uint16_t, D> d16;
  const auto u = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<16>(u), hn::Set(du, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(u, hn::Add(odd, hn::Set(du, 0x7fff))));
  const auto quiet = hn::Or(hn::ShiftRight<16>(u), hn::Set(du, 0x40));
  const auto nan = hn::RebindMask(du, hn::IsNaN(x));
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di, hn::IfThenElse(nan, quiet, rounded))), d16, &p->bits);
}
template <class D> static inline void narrow(hn::Vec<D> x, D d, F16* p) {
#if DY_ISA_sse4
  float value[hn::MaxLanes(D())];
  hn::StoreU(x, d, value);
  for (size_t i = 0; i < hn::MaxLanes(d); ++i) p[i].bits = f16_nearest(value[i]);
#else
  const hn::Rebind<hwy::float16_t, D> d16;
  hn::StoreU(hn::DemoteTo(d16, x), d16, (hwy::float16_t*)p);
#endif
}
template <class D, class S> static inline hn::Vec<D> load_as(D d, const S* p) {
  if constexpr (sizeof(S) == 2)
    return widen(d, p);
  else
    return hn::LoadU(d, p);
}
template <class D, class S> static inline void store_as(hn::Vec<D> x, D d, S* p) {
  if constexpr (sizeof(S) == 2)
    narrow(x, d, p);
  else
    hn::StoreU(x, d, p);
}

// n contiguous elements.
template <class T, class S> static inline void load_row(const S* from, T* to, int64_t n) {
  constexpr hn::ScalableTag<T> d;
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) hn::StoreU(load_as(d, from + i), d, to + i);
  for (; i < n; ++i) to[i] = load1<T>(from + i);
}
template <class T, class S> static inline void store_row(const T* from, S* to, int64_t n) {
  constexpr hn::ScalableTag<T> d;
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store_as(hn::LoadU(d, from + i), d, to + i);
  for (; i < n; ++i) store1(from[i], to + i);
}
template <class T> static inline void zero_row(T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = 0;
}

// 16 bytes of row 0, of row `step`, of row 2 step ... as the blocks of one vector.
template <class D, class S> static DY_INLINE hn::Vec<D> load_blocks(D d, const S* from, int64_t step) {
  if constexpr (sizeof(hn::TFromD<D>) * hn::MaxLanes(D()) == 16) {
    return load_as(d, from);
  } else {
    const hn::Half<D> half;
    constexpr int64_t kBlocks = sizeof(hn::TFromD<D>) * hn::MaxLanes(D()) / 32;
    return hn::Combine(d, load_blocks(half, from + kBlocks * step, step), load_blocks(half, from, step));
  }
}
// As many rows as D has lanes, of B elements (16 bytes: 4 f32, 2 f64), transposed: 4 vectors are 16 loads and 8 shuffles.
template <class D, class S, class T>
static DY_INLINE void transpose_tile(D d, const S* from, int64_t from_row, T* to, int64_t to_row) {
  if constexpr (sizeof(T) == 4) {
    const hn::Repartition<uint64_t, D> dd;
    const auto r0 = load_blocks(d, from, 4 * from_row), r1 = load_blocks(d, from + from_row, 4 * from_row);
    const auto r2 = load_blocks(d, from + 2 * from_row, 4 * from_row), r3 = load_blocks(d, from + 3 * from_row, 4 * from_row);
    const auto lo01 = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1)), hi01 = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1));
    const auto lo23 = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3)), hi23 = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, lo01, lo23)), d, to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, lo01, lo23)), d, to + to_row);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, hi01, hi23)), d, to + 2 * to_row);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, hi01, hi23)), d, to + 3 * to_row);
  } else {
    const auto r0 = load_blocks(d, from, 2 * from_row), r1 = load_blocks(d, from + from_row, 2 * from_row);
    hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to);
    hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + to_row);
  }
}
// to[j][i] = from[i][j] for i < rows, j < cols.
template <class T, class S>
static void transpose_block(const S* from, int64_t from_row, int64_t rows, int64_t cols, T* to, int64_t to_row) {
  constexpr int64_t B = 16 / sizeof(T);
  constexpr hn::ScalableTag<T> d;
  constexpr hn::FixedTag<T, B> block;
  const int64_t cols_b = cols / B * B;
  int64_t i = 0;
  auto strip = [&](int64_t height, auto tag) {
    const S* f = from + i * from_row;
    for (int64_t j = 0; j < cols_b; j += B) transpose_tile(tag, f + j, from_row, to + j * to_row + i, to_row);
    for (int64_t j = cols_b; j < cols; ++j)
      for (int64_t q = 0; q < height; ++q) to[j * to_row + i + q] = load1<T>(f + q * from_row + j);
    i += height;
  };
  while (i + kLanes<T> <= rows) strip(kLanes<T>, d);
  while (i + B <= rows) strip(B, block);
  for (; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) to[j * to_row + i] = load1<T>(from + i * from_row + j);
}

// to[i][j] = from[i, j] for any strides, rows x cols, with zeros up to `width` columns.
template <class T, class S>
static void pack_block(const S* from, int64_t row, int64_t col, int64_t rows, int64_t cols, int64_t width, T* to,
                       int64_t to_row) {
  if (col == 1) {
    for (int64_t i = 0; i < rows; ++i) load_row(from + i * row, to + i * to_row, cols);
  } else if (row == 1) {
    transpose_block(from, col, cols, rows, to, to_row);
  } else {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j) to[i * to_row + j] = load1<T>(from + i * row + j * col);
  }
  if (width > cols)
    for (int64_t i = 0; i < rows; ++i) zero_row(to + i * to_row + cols, width - cols);
}

// `panels` full panels (kMicroCols columns) of `rows` rows: to[p][i][j] = from[i, p * kMicroCols + j], panels `panel` apart.
template <class T, class S>
static void pack_panels(const S* from, int64_t row, int64_t rows, int64_t panels, T* to, int64_t panel) {
  constexpr hn::ScalableTag<T> d;
  constexpr int64_t L = kLanes<T>;
  for (int64_t i = 0; i < rows; ++i) {
    const S* f = from + i * row;
    T* o = to + i * 2 * L;
    for (int64_t p = 0; p < panels; ++p, f += 2 * L, o += panel) {
      hn::StoreU(load_as(d, f), d, o);
      hn::StoreU(load_as(d, f + L), d, o + L);
    }
  }
}

// Note [Complex operands]: a complex product [m, k] x [k, n] is the real one [m, 2 k] x [2 k, 2 n] over the parts as they lie
// in a and c, where b has each row twice: as it is, for the real parts of a, and times i, for the imaginary ones. The second
// one exists in packed panels only: an index into b (or a, along k) counts parts, its stride counts complex numbers.
template <class T>
static void pack_turned(const Part<T>* from, int64_t row, int64_t col, int64_t rows, int64_t cols, int64_t width, T* to) {
  constexpr hn::ScalableTag<T> d;
  constexpr int64_t L = kLanes<T>;
  for (int64_t p = 0; p < rows; p += 2, to += 2 * width) {
    const T* f = &(from + p * row)->value;
    int64_t j = 0;
    for (; col == 1 && j + L <= cols; j += L) {
      const auto x = hn::LoadU(d, f + j), y = hn::DupOdd(x);
      hn::StoreU(x, d, to + j);
      hn::StoreU(hn::OddEven(hn::DupEven(x), hn::Neg(y)), d, to + width + j);
    }
    for (; j < cols; j += 2) {
      const T re = f[j * col], im = f[j * col + 1];
      to[j] = re, to[j + 1] = im, to[width + j] = -im, to[width + j + 1] = re;
    }
    zero_row(to + cols, width - cols);
    zero_row(to + width + cols, width - cols);
  }
}
template <class T>
static void pack_block(const Part<T>* from, int64_t row, int64_t col, int64_t rows, int64_t cols, int64_t, T* to,
                       int64_t to_row) {
  for (int64_t i = 0; i < rows; ++i, to += to_row) {
    const T* f = &(from + i * row)->value;
    if (col == 1)
      load_row(f, to, cols);
    else
      for (int64_t p = 0; p < cols; p += 2) to[p] = f[p * col], to[p + 1] = f[p * col + 1];
  }
}

}  // namespace dyadic::DY_ISA
