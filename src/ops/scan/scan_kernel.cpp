// A row is scanned several elements at a time: their own sums do not wait for the carry, which is added once, so that a long
// row does not go at the latency of an addition per element. Columns (inner > 1) are scanned side by side.
#include "ops/scan/scan_kernel.h"

#include "loops/lanes.h"
#include "loops/stream_kernel.h"
#include "ops/scan/scan_steps.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kTileOf = 1024;  // elements decoded at once
constexpr int64_t kBlock = 16384;  // what long rows are cut into
constexpr int64_t kGroup = 32;     // blocks whose totals and sums are taken one after the other, from the second cache
constexpr int64_t kColumns = 256;

template <class T, class A, class Op> DY_INLINE A scan_tile(const T* x, T* y, int64_t n, A carry) {
  if constexpr (std::is_same_v<Op, LogAddExp<double>>) return scan_exponentials(x, y, n, carry);
  int64_t i = 0;
  if constexpr (std::is_same_v<A, double> && HasVectors<Op>) {
    i = n / kEight * kEight;
    carry = scan_eights<T, Op>(x, y, i, carry);
  }
  for (; i + 4 <= n; i += 4) {
    const A a = A(x[i]), b = A(x[i + 1]), c = A(x[i + 2]), d = A(x[i + 3]);
    const A ab = Op::of(a, b), abc = Op::of(ab, c), all = Op::of(ab, Op::of(c, d));
    y[i] = T(Op::of(carry, a));
    y[i + 1] = T(Op::of(carry, ab));
    y[i + 2] = T(Op::of(carry, abc));
    carry = Op::of(carry, all);
    y[i + 3] = T(carry);
  }
  for (; i < n; i++) y[i] = T(carry = Op::of(carry, A(x[i])));
  return carry;
}

template <class T>
constexpr Compute kComputeOf = std::is_same_v<T, float>      ? Compute::f32
                               : std::is_same_v<T, double>   ? Compute::f64
                               : std::is_same_v<T, int32_t>  ? Compute::i32
                               : std::is_same_v<T, uint64_t> ? Compute::u64
                                                             : Compute::i64;

// Whether elements are stored as T.
template <class T> DY_INLINE bool same_type(const Format* f) {
  return f->def->compute == kComputeOf<T> && f->def->bits == 8 * int(sizeof(T)) &&
         (f->def->kind == Kind::floating) == std::is_floating_point_v<T>;
}

// n elements as T: where they lie, or converted into the buffer.
template <class T> DY_INLINE const T* load_tile(Source x, int64_t at, int64_t n, T* buffer) {
  if (same_type<T>(x.format)) return static_cast<const T*>(x.data) + at;
  if (x.format->def->compute == kComputeOf<T>)
    x.format->def->decode(element(x, at), buffer, n);
  else
    convert(*x.format, element(x, at), compute_format(kComputeOf<T>), buffer, n);
  return buffer;
}

// Rows of which many fit into a tile, all of them decoded at once.
template <class T, class A, class Op> void scan_short_rows(Source x, Target y, int64_t at, int64_t rows, int64_t n) {
  alignas(64) T in[kTileOf], out[kTileOf];
  const bool direct = same_type<T>(y.format);
  const int64_t most = kTileOf / n;
  for (; rows > 0; rows -= most, at += most * n) {
    const int64_t m = min_of(rows, most) * n;
    const T* from = load_tile<T>(x, at, m, in);
    T* to = direct ? static_cast<T*>(y.data) + at : out;
    for (int64_t i = 0; i < m; i += n) scan_tile<T, A, Op>(from + i, to + i, n, Op::kNone);
    if (!direct) y.format->def->encode(out, element(y, at), m, Round{});
  }
}

// stream: the result goes past the caches.
template <class T, class A, class Op> A scan_run(Source x, Target y, int64_t at, int64_t n, A carry, bool stream = false) {
  alignas(64) T in[kTileOf], out[kTileOf];
  const bool direct = same_type<T>(y.format) && !stream;
  for (int64_t i = 0; i < n; i += kTileOf) {
    const int64_t m = min_of(kTileOf, n - i);
    const T* from = load_tile<T>(x, at + i, m, in);
    T* to = direct ? static_cast<T*>(y.data) + at + i : out;
    carry = scan_tile<T, A, Op>(from, to, m, carry);
    if (stream)
      stream_kernel.write(static_cast<char*>(element(y, at + i)), reinterpret_cast<const char*>(out), m * int64_t(sizeof(T)));
    else if (!direct)
      y.format->def->encode(out, element(y, at + i), m, Round{});
  }
  if (stream) stream_kernel.flush();
  return carry;
}

// x[0] + x[8] + ..., x[1] + x[9] + ... of a multiple of eight, then the eight as a tree of halves.
template <class T, class Op> DY_INLINE double total_eights(const T* x, int64_t n) {
  Doubles v[kVectors];
  for (int64_t k = 0; k < kVectors; k++) v[k] = hn::Set(kDoubles, Op::kNone);
  for (int64_t i = 0; i < n; i += kEight)
    for (int64_t k = 0; k < kVectors; k++) v[k] = Op::of(v[k], load_doubles(x + i + k * kLanes));
  alignas(64) double lane[kEight];
  for (int64_t k = 0; k < kVectors; k++) hn::Store(v[k], kDoubles, lane + k * kLanes);
  for (int64_t half = kEight / 2; half > 0; half /= 2)
    for (int64_t k = 0; k < half; k++) lane[k] = Op::of(lane[k], lane[k + half]);
  return lane[0];
}

// The total of a run. (Four partial sums in an array were added wrongly by g++ 12 for int64 with
// AVX-512: a quarter of the total.)
template <class T, class A, class Op> A total_run(Source x, int64_t at, int64_t n) {
  alignas(64) T in[kTileOf];
  A total = Op::kNone;
  for (int64_t i = 0; i < n; i += kTileOf) {
    const int64_t m = min_of(kTileOf, n - i);
    const T* from = load_tile<T>(x, at + i, m, in);
    int64_t j = 0;
    if constexpr (std::is_same_v<A, double> && HasVectors<Op>) {
      j = m / kEight * kEight;
      total = Op::of(total, total_eights<T, Op>(from, j));
    }
    for (; j + 8 <= m; j += 8) {
      const A ab = Op::of(A(from[j]), A(from[j + 1])), cd = Op::of(A(from[j + 2]), A(from[j + 3]));
      const A ef = Op::of(A(from[j + 4]), A(from[j + 5])), gh = Op::of(A(from[j + 6]), A(from[j + 7]));
      total = Op::of(total, Op::of(Op::of(ab, cd), Op::of(ef, gh)));
    }
    for (; j < m; j++) total = Op::of(total, A(from[j]));
  }
  return total;
}

template <class T, class A, class Op> void scan_rows(const ScanShape& s, Source x, Target y, void* workspace) {
  const int64_t blocks = (s.n + kBlock - 1) / kBlock;
  if (blocks < 4 || s.outer >= 8) {
    parallel_for(s.outer, max_of(1, kBlock / max_of(s.n, 1)), [&](int64_t begin, int64_t end) {
      if (2 * s.n <= kTileOf) return scan_short_rows<T, A, Op>(x, y, begin * s.n, end - begin, s.n);
      for (int64_t r = begin; r < end; r++) scan_run<T, A, Op>(x, y, r * s.n, s.n, Op::kNone);
    });
    return;
  }
  A* start = static_cast<A*>(workspace);
  const bool stream = same_type<T>(y.format) && x.data != y.data && s.outer * s.n * int64_t(sizeof(T)) >= stream_bytes();
  for (int64_t r = 0; r < s.outer; r++) {
    A sum = Op::kNone;
    for (int64_t first = 0; first < blocks; first += kGroup) {
      const int64_t count = min_of(kGroup, blocks - first);
      auto at = [&](int64_t b) { return r * s.n + (first + b) * kBlock; };
      auto length = [&](int64_t b) { return min_of(kBlock, s.n - (first + b) * kBlock); };
      parallel_for(count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; b++) start[b] = total_run<T, A, Op>(x, at(b), length(b));
      });
      for (int64_t b = 0; b < count; b++) {
        const A next = Op::of(sum, start[b]);
        start[b] = sum;
        sum = next;
      }
      parallel_for(count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; b++) scan_run<T, A, Op>(x, y, at(b), length(b), start[b], stream);
      });
    }
  }
}

template <class T, class A, class Op> void scan_columns(const ScanShape& s, Source x, Target y) {
  const int64_t pieces = (s.inner + kColumns - 1) / kColumns;
  const bool direct = same_type<T>(y.format);
  parallel_for(s.outer * pieces, max_of(1, kBlock / (s.n * min_of(s.inner, kColumns) + 1)), [&](int64_t begin, int64_t end) {
    alignas(64) A sum[kColumns];
    alignas(64) T in[kColumns], out[kColumns];
    for (int64_t u = begin; u < end; u++) {
      const int64_t from = u % pieces * kColumns, width = min_of(kColumns, s.inner - from);
      for (int64_t k = 0; k < width; k++) sum[k] = Op::kNone;
      for (int64_t j = 0; j < s.n; j++) {
        const int64_t at = (u / pieces * s.n + j) * s.inner + from;
        const T* __restrict row = load_tile<T>(x, at, width, in);
        T* __restrict to = direct ? static_cast<T*>(y.data) + at : out;
        int64_t k = 0;
        if constexpr (std::is_same_v<A, double> && HasVectors<Op>) {
          for (; k + kLanes <= width; k += kLanes) {
            const Doubles v = Op::of(hn::Load(kDoubles, sum + k), load_doubles(row + k));
            hn::Store(v, kDoubles, sum + k);
            store_doubles(v, to + k);
          }
        }
        for (; k < width; k++) to[k] = T(sum[k] = Op::of(sum[k], A(row[k])));
        if (!direct) y.format->def->encode(out, element(y, at), width, Round{});
      }
    }
  });
}

template <class T, class Op> void scan_as(const ScanShape& s, Source x, Target y, void* workspace) {
  using A = typename AccOf<T>::type;
  if (s.inner == 1)
    scan_rows<T, A, Op>(s, x, y, workspace);
  else
    scan_columns<T, A, Op>(s, x, y);
}
template <template <class> class Op> void scan_types(const ScanShape& s, Source x, Target y, void* workspace) {
  switch (y.format->def->compute) {
    case Compute::f32:
      return scan_as<float, Op<double>>(s, x, y, workspace);
    case Compute::f64:
      return scan_as<double, Op<double>>(s, x, y, workspace);
    case Compute::i32:
      return scan_as<int32_t, Op<int32_t>>(s, x, y, workspace);
    case Compute::u64:
      return scan_as<uint64_t, Op<uint64_t>>(s, x, y, workspace);
    default:
      return scan_as<int64_t, Op<int64_t>>(s, x, y, workspace);
  }
}

void run(ScanOp op, const ScanShape& s, Source x, Target y, void* workspace) {
  if (s.outer * s.n * s.inner == 0) return;
  switch (op) {
    case ScanOp::sum:
      return scan_types<Plus>(s, x, y, workspace);
    case ScanOp::prod:
      return scan_types<Times>(s, x, y, workspace);
    default:
      if (y.format->def->compute == Compute::f64) return scan_as<double, LogAddExp<double>>(s, x, y, workspace);
      return scan_as<float, LogAddExp<double>>(s, x, y, workspace);
  }
}
int64_t workspace(ScanOp, const ScanShape& s) { return s.inner == 1 ? kGroup * 8 : 0; }

// later: whether x takes the place of best.
template <class T, bool kMax> DY_INLINE bool later(T x, T best) { return (kMax ? x >= best : x <= best) || x != x; }

// Takes x at place j into the running extreme.
template <class T, bool kMax> DY_INLINE void take(T x, int64_t j, T& best, int64_t& where) {
  const bool takes = later<T, kMax>(x, best) && (best == best || x != x);
  best = takes ? x : best;
  where = takes ? j : where;
}

template <class T, bool kMax> void extreme_rows(const ScanShape& s, Source x, Target y, int64_t* index) {
  const bool direct = same_type<T>(y.format);
  parallel_for(s.outer, max_of(1, kBlock / s.n), [&](int64_t begin, int64_t end) {
    alignas(64) T in[kTileOf], out[kTileOf];
    for (int64_t r = begin; r < end; r++) {
      T best{};
      int64_t where = 0;
      for (int64_t i = 0; i < s.n; i += kTileOf) {
        const int64_t at = r * s.n + i, m = min_of(kTileOf, s.n - i);
        const T* from = load_tile<T>(x, at, m, in);
        T* to = direct ? static_cast<T*>(y.data) + at : out;
        if (i == 0) best = from[0];
        for (int64_t j = 0; j < m; j++) {
          take<T, kMax>(from[j], i + j, best, where);
          to[j] = best;
          index[at + j] = where;
        }
        if (!direct) y.format->def->encode(out, element(y, at), m, Round{});
      }
    }
  });
}

template <class T, bool kMax> void extreme_columns(const ScanShape& s, Source x, Target y, int64_t* index) {
  const int64_t pieces = (s.inner + kColumns - 1) / kColumns;
  const bool direct = same_type<T>(y.format);
  parallel_for(s.outer * pieces, max_of(1, kBlock / (s.n * min_of(s.inner, kColumns) + 1)), [&](int64_t begin, int64_t end) {
    alignas(64) T best[kColumns], in[kColumns];
    int64_t where[kColumns];
    for (int64_t u = begin; u < end; u++) {
      const int64_t from = u % pieces * kColumns, width = min_of(kColumns, s.inner - from);
      for (int64_t j = 0; j < s.n; j++) {
        const int64_t at = (u / pieces * s.n + j) * s.inner + from;
        const T* row = load_tile<T>(x, at, width, in);
        for (int64_t k = 0; k < width; k++) {
          if (j == 0) best[k] = row[k];
          take<T, kMax>(row[k], j, best[k], where[k]);
          index[at + k] = where[k];
        }
        if (direct)
          __builtin_memcpy(static_cast<T*>(y.data) + at, best, size_t(width) * sizeof(T));
        else
          y.format->def->encode(best, element(y, at), width, Round{});
      }
    }
  });
}
template <class T, bool kMax> void extremes_as(const ScanShape& s, Source x, Target y, int64_t* index) {
  s.inner == 1 ? extreme_rows<T, kMax>(s, x, y, index) : extreme_columns<T, kMax>(s, x, y, index);
}
template <class T> void extremes_type(ScanOp op, const ScanShape& s, Source x, Target y, int64_t* index) {
  op == ScanOp::max ? extremes_as<T, true>(s, x, y, index) : extremes_as<T, false>(s, x, y, index);
}
void extremes(ScanOp op, const ScanShape& s, Source x, Target y, int64_t* index) {
  if (s.outer * s.n * s.inner == 0) return;
  switch (y.format->def->compute) {
    case Compute::f32:
      return extremes_type<float>(op, s, x, y, index);
    case Compute::f64:
      return extremes_type<double>(op, s, x, y, index);
    case Compute::i32:
      return extremes_type<int32_t>(op, s, x, y, index);
    case Compute::u64:
      return extremes_type<uint64_t>(op, s, x, y, index);
    default:
      return extremes_type<int64_t>(op, s, x, y, index);
  }
}

}  // namespace

extern const ScanKernel scan_kernel = {run, workspace, extremes};

}  // namespace dyadic::DY_ISA
