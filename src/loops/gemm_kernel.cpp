// Blocked matrix product of one tile for floats: blocks of b and a are decoded and packed into cache, register tiles multiply.
#include "loops/gemm_kernel.h"

#include <type_traits>

#include "loops/gemm_few.h"
#include "loops/gemm_integer.h"
#include "loops/gemm_pack.h"
#include "loops/gemm_tiny.h"

namespace dyadic::DY_ISA {
namespace {

// A packed block of b (k x columns of the tile) lies in L2 and feeds L1 one panel at a time (48 KiB with AVX-512, 24 with
// AVX2); a block of a is 225 KiB. Each block of k reads and writes c once more: 384 deep instead of 192 is 5 to 10 % faster
// where L1 has 32 KiB, though a panel then comes from L2.
template <class T> constexpr int64_t kDepth = 1536 / sizeof(T);
constexpr int64_t kBlockRows = 144;                               // a multiple of 12 and 6
template <class T> constexpr int64_t kShort = 2 * kMicroCols<T>;  // columns that a copy of a would not pay for
template <class T>
constexpr int64_t kDepthStride = kDepth<T> + 16;  // 16 more: rows of a power of two would share a few cache sets
constexpr int64_t kRowStride = kBlockRows + 16;

constexpr int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }
template <class T> constexpr int64_t padded_cols(int64_t n) { return round_up(n, kMicroCols<T>); }
template <class T> constexpr int64_t depth_of(int64_t k) {  // blocks of about equal depth, whole tiles of transpose_block
  const int64_t blocks = (k + kDepth<T> - 1) / kDepth<T>;
  return blocks == 0 ? 16 : round_up((k + blocks - 1) / blocks, 16);
}

// b as packed: for each block of k, for each panel of kMicroCols columns, `depth` rows. The last block may be shallower.
template <class T> struct Packed {
  int64_t depth, panels, panel;  // panel: elements from one to the next
  Packed(int64_t n, int64_t k) : depth(depth_of<T>(k)), panels(padded_cols<T>(n) / kMicroCols<T>) {
    panel = depth * kMicroCols<T> + 16;  // 16: panels are written side by side, in different cache sets
  }
  int64_t at(int64_t k0, int64_t j) const { return (k0 / depth * panels + j / kMicroCols<T>)*panel; }
  int64_t total(int64_t k) const { return (k + depth - 1) / depth * panels * panel; }
};

// Where the pieces lie in the scratch, in elements of T.
template <class T> struct Layout {
  int64_t depth, cols, a, b, bias, c, total;
  Layout(int64_t m, int64_t n, int64_t k, bool narrow, bool own) {
    const Packed<T> block(n, k);
    depth = block.depth;
    cols = padded_cols<T>(n);
    const int64_t rows = m < kBlockRows ? m : kBlockRows;
    // Room for the deepest block that a k up to this one can have: a smaller k may be cut into deeper blocks.
    const int64_t deepest = k < kDepth<T> ? round_up(k, 16) : kDepth<T>;
    const int64_t by_rows = rows * kDepthStride<T>, by_cols = deepest * kRowStride;
    a = 0;
    b = a + round_up(by_rows > by_cols ? by_rows : by_cols, 16);
    bias = b + (own ? block.panels * (deepest * kMicroCols<T> + 16) : 0);
    c = bias + cols;
    // A narrow c that is summed over several blocks of k is kept whole; else one panel of a block's rows is enough.
    const bool whole = narrow && depth < k;
    total = c + (whole ? m * cols : rows * kMicroCols<T>);
  }
};

template <class S, class T> constexpr bool kParts = std::is_same_v<S, Part<T>>;

template <class S, class T> void pack_panel(const GemmTile& t, int64_t k0, int64_t depth, int64_t j, T* to) {
  const int64_t n = t.n - j < kMicroCols<T> ? t.n - j : kMicroCols<T>;
  if constexpr (kParts<S, T>)
    return pack_turned((const S*)t.b + k0 * t.b_row + j * t.b_col, t.b_row, t.b_col, depth, n, kMicroCols<T>, to);
  else
    pack_block((const S*)t.b + k0 * t.b_row + j * t.b_col, t.b_row, t.b_col, depth, n, kMicroCols<T>, to, kMicroCols<T>);
}
template <class S, class T> void pack(const GemmTile& t, int64_t begin, int64_t end) {
  const Packed<T> layout(t.n, t.k);
  T* to = (T*)t.packed;
  for (int64_t k0 = 0; k0 < t.k; k0 += layout.depth) {
    const int64_t depth = t.k - k0 < layout.depth ? t.k - k0 : layout.depth;
    const int64_t full = t.n / kMicroCols<T>;
    int64_t p = begin;
    if constexpr (!kParts<S, T>)
      if (t.b_col == 1 && begin < full) {  // all full panels row by row: b is read as it lies
        p = end < full ? end : full;
        pack_panels((const S*)t.b + k0 * t.b_row + begin * kMicroCols<T>, t.b_row, depth, p - begin,
                    to + layout.at(k0, begin * kMicroCols<T>), layout.panel);
      }
    for (; p < end; ++p) pack_panel<S>(t, k0, depth, p * kMicroCols<T>, to + layout.at(k0, p * kMicroCols<T>));
  }
}

template <class S, class T, class O> struct Blocked {
  const GemmTile& t;
  const Layout<T> at;
  const Packed<T> shared;  // the layout of b's panels: all of b, or one block of the tile's own
  const bool whole;
  T* const scratch;
  const S* a;
  O* c;

  explicit Blocked(const GemmTile& tile)
      : t(tile),
        at(tile.m, tile.n, tile.k, sizeof(O) < sizeof(T), !tile.packed),
        shared(tile.packed ? tile.packed_cols : tile.n, tile.k),
        whole(sizeof(O) < sizeof(T) && at.depth < tile.k),
        scratch((T*)tile.scratch),
        a((const S*)tile.a),
        c((O*)tile.c) {}

  void run() {
    if (t.bias) {
      const T* from = (const T*)t.bias;
      for (int64_t j = 0; j < t.n; ++j) scratch[at.bias + j] = from[j];
      zero_row(scratch + at.bias + t.n, at.cols - t.n);
    }
    int64_t k0 = 0;
    do {  // once for k = 0
      const int64_t depth = t.k - k0 < at.depth ? t.k - k0 : at.depth;
      if (!t.packed) {
        GemmTile block = t;
        block.b = t.stored ? t.b : (const S*)t.b + k0 * t.b_row;
        block.b_first += k0 * t.b_row, block.k = depth, block.packed = scratch + at.b;
        pack_block_of_b(block);
      }
      for (int64_t i = 0; i < t.m; i += kBlockRows) { row_block(i, rows_at(i), k0, depth); }
      k0 += at.depth;
    } while (k0 < t.k);
  }
  int64_t rows_at(int64_t i) const { return t.m - i < kBlockRows ? t.m - i : kBlockRows; }
  void pack_block_of_b(const GemmTile& block) {
    int64_t p = 0;
    T* to = scratch + at.b;
    if constexpr (!kParts<S, T>)
      if (t.stored) return pack_stored(block, to);
    if constexpr (!kParts<S, T>)
      if (t.b_col == 1) {
        p = t.n / kMicroCols<T>;
        pack_panels((const S*)block.b, t.b_row, block.k, p, to, shared.panel);
      }
    for (; p < shared.panels; ++p) pack_panel<S>(block, 0, block.k, p * kMicroCols<T>, to + p * shared.panel);
  }
  // A b that is decoded: along its rows, or column by column, a panel at a time.
  void pack_stored(const GemmTile& block, T* to) {
    constexpr int64_t kCols = kMicroCols<T>;
    S* decoded = (S*)(scratch + at.total);
    if (t.b_col == 1 && t.n > 1) {
      for (int64_t i = 0; i < block.k; ++i) {
        read_stored(*t.stored, t.b, block.b_first + i * t.b_row, 1, t.n, decoded);
        for (int64_t j = 0; j < t.n; j += kCols) {
          T* row = to + j / kCols * shared.panel + i * kCols;
          load_row(decoded + j, row, panel_cols(j));
          zero_row(row + panel_cols(j), kCols - panel_cols(j));
        }
      }
      return;
    }
    for (int64_t j = 0; j < t.n; j += kCols) {
      for (int64_t q = 0; q < panel_cols(j); ++q)
        read_stored(*t.stored, t.b, block.b_first + (j + q) * t.b_col, t.b_row, block.k, decoded + q * block.k);
      pack_block(decoded, int64_t(1), block.k, block.k, panel_cols(j), kCols, to + j / kCols * shared.panel, kCols);
    }
  }
  const T* panel_of_b(int64_t k0, int64_t j) const {
    if (t.packed) return (const T*)t.packed + shared.at(k0, t.packed_col + j);
    return scratch + at.b + shared.at(0, j);
  }
  int64_t panel_cols(int64_t j) const { return t.n - j < kMicroCols<T> ? t.n - j : kMicroCols<T>; }

  // f32 and f64 rows are read where they lie, unless those of a tile share two or fewer cache sets; columns only where that
  // stays within a few cache sets' reach (measured: packing wins from a distance of 4 KiB on).
  bool in_place() const {
    const int64_t row = t.a_row * int64_t(sizeof(T)), col = t.a_col * int64_t(sizeof(T));
    if (t.a_col == 1) return sizeof(S) == sizeof(T) && (row % 2048 != 0 || t.n <= kShort<T>);
    return std::is_same_v<S, T> && t.a_row == 1 && col <= 1024 && col > 0;
  }
  void row_block(int64_t i, int64_t m, int64_t k0, int64_t depth) {
    T* pa = scratch + at.a;
    MicroArgs<T> g{.k = depth, .a = pa};
    const S* from = a + i * t.a_row + k0 * t.a_col;
    if (in_place()) {
      g.a = (const T*)from, g.a_row = t.a_row, g.a_col = t.a_col;
    } else if (t.a_row == 1 && t.a_col != 1) {
      pack_block(from, t.a_col, int64_t(1), depth, m, m, pa, kRowStride);
      g.a_row = 1, g.a_col = kRowStride;
    } else {
      pack_block(from, t.a_row, t.a_col, m, depth, depth, pa, kDepthStride<T>);
      g.a_row = kDepthStride<T>, g.a_col = 1;
    }
    g.b_row = kMicroCols<T>;
    for (int64_t j = 0; j < t.n; j += kMicroCols<T>) {
      g.b = panel_of_b(k0, j);
      g.start = t.bias && k0 == 0 ? scratch + at.bias + j : nullptr;
      panel(g, i, m, j, k0 == 0, k0 + depth == t.k);
    }
  }
  void panel(MicroArgs<T>& g, int64_t i, int64_t m, int64_t j, bool first, bool last) {
    const int64_t n = panel_cols(j);
    O* out = c + i * t.c_row + j;
    if constexpr (sizeof(O) == sizeof(T)) {
      if (n == kMicroCols<T>) {
        g.c = out, g.c_row = t.c_row, g.add = !first || t.accumulate;
        return micro_rows<2>(m, g);
      }
    }
    g.c = scratch + at.c + (whole ? i * at.cols + j : 0), g.c_row = whole ? at.cols : kMicroCols<T>;
    const bool load = whole ? first && t.accumulate : !first || t.accumulate;
    if (load)
      for (int64_t q = 0; q < m; ++q) load_row(out + q * t.c_row, g.c + q * g.c_row, n);
    g.add = !first || t.accumulate;
    if (n <= kLanes<T>)
      micro_rows<1>(m, g);
    else
      micro_rows<2>(m, g);
    if (!whole || last)
      for (int64_t q = 0; q < m; ++q) store_row(g.c + q * g.c_row, out + q * t.c_row, n);
  }
};

template <class S, class T, class O> void blocked(const GemmTile& t) { Blocked<S, T, O>(t).run(); }

// Sum of `count` parts of one element row, as a balanced tree, in place of the first.
template <class T> hn::Vec<hn::ScalableTag<T>> tree(const T* part, int64_t step, int64_t count) {
  constexpr hn::ScalableTag<T> d;
  if (count == 1) return hn::LoadU(d, part);
  const int64_t half = (count + 1) / 2;
  return hn::Add(tree(part, step, half), tree(part + half * step, step, count - half));
}
template <class T> T tree1(const T* part, int64_t step, int64_t count) {
  if (count == 1) return *part;
  const int64_t half = (count + 1) / 2;
  return tree1(part, step, half) + tree1(part + half * step, step, count - half);
}
template <class T, class O> void combine(const GemmParts& p, int64_t begin, int64_t end) {
  constexpr hn::ScalableTag<T> d;
  const int64_t step = p.m * p.n;
  const T* bias = (const T*)p.bias;
  for (int64_t i = begin; i < end; ++i) {
    const T* part = (const T*)p.part + i * p.n;
    O* c = (O*)p.c + i * p.c_row;
    const T* bi = bias ? bias + i * p.bias_row : nullptr;
    int64_t j = 0;
    if (p.c_col == 1 && (!bias || p.bias_col == 1))
      for (; j + kLanes<T> <= p.n; j += kLanes<T>) {
        auto x = tree(part + j, step, p.parts);
        if (bi) x = hn::Add(x, hn::LoadU(d, bi + j));
        if (p.accumulate) x = hn::Add(x, load_as(d, c + j));
        store_as(x, d, c + j);
      }
    for (; j < p.n; ++j) {
      T x = tree1(part + j, step, p.parts);
      if (bi) x = x + bi[j * p.bias_col];
      if (p.accumulate) x = x + load1<T>(c + j * p.c_col);
      store1(x, c + j * p.c_col);
    }
  }
}

size_t scratch_bytes(int64_t m, int64_t n, int64_t k, int64_t compute_bytes, bool narrow, bool own) {
  return compute_bytes == 8 ? 8 * Layout<double>(m, n, k, narrow, own).total : 4 * Layout<float>(m, n, k, narrow, own).total;
}
size_t packed_bytes(int64_t n, int64_t k, int64_t compute_bytes) {
  return compute_bytes == 8 ? 8 * Packed<double>(n, k).total(k) : 4 * Packed<float>(n, k).total(k);
}

template <class T> size_t stored_elements(int64_t k, int64_t n) {
  const int64_t depth = k < kDepth<T> ? round_up(k, 16) : kDepth<T>, column = depth * kMicroCols<T>;
  return size_t(n > column ? n : column);
}
size_t stored_bytes(int64_t k, int64_t n, int64_t compute_bytes) {
  return compute_bytes == 8 ? 8 * stored_elements<double>(k, n) : 4 * stored_elements<float>(k, n);
}

template <class S, class T, class O> constexpr GemmFunctions functions() {
  return {blocked<S, T, O>, few<S, T, O>, pack<S, T>, combine<T, O>, tiny<S, T, O>};
}
template <class T> constexpr GemmFunctions complex_functions() {
  return {blocked<Part<T>, T, T>, nullptr, pack<Part<T>, T>, combine<T, T>, nullptr};
}

}  // namespace

extern const GemmKernel gemm_kernel = {
    .f32 = functions<float, float, float>(),
    .bf16_f32 = functions<Bf16, float, float>(),
    .bf16 = functions<Bf16, float, Bf16>(),
    .f16_f32 = functions<F16, float, float>(),
    .f16 = functions<F16, float, F16>(),
    .f64 = functions<double, double, double>(),
    .c64 = complex_functions<float>(),
    .c128 = complex_functions<double>(),
    .i32 = integer_functions<uint32_t>(),
    .i64 = integer_functions<uint64_t>(),
    .scratch = scratch_bytes,
    .packed = packed_bytes,
    .stored = stored_bytes,
    .rows = kMicroRows,
    .cols_f32 = kMicroCols<float>,
};

}  // namespace dyadic::DY_ISA
