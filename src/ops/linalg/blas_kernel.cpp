// Note [Complex products]: numbers are pairs of reals, so a column a of A times a number b is the real combination of the two
// columns a and i a with the real and the imaginary part of b. A complex product is thus the real one of twice the rows and
// twice the terms: a panel of A is packed with both columns, B is read as it lies.
#include "ops/linalg/blas_kernel.h"

#include <algorithm>
#include <type_traits>

#include "loops/gemm_pack.h"
#include "ops/linalg/blas_numbers.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kTerms = 192;               // real rows of a packed panel: 24 KB, which leaves a quarter of L1 to B
constexpr int64_t kColumns = 64;              // of B that are packed together, if they must be
constexpr double kParallel = 64.0 * 64 * 64;  // multiplications worth several threads
constexpr int64_t kParallelElements = int64_t(1) << 17;

// to[term][lane]: alpha A's rows [i, i + rows) and columns [p, p + terms).
template <class T>
void pack_panel(MatrixView<const T> a, int64_t i, int64_t rows, int64_t p, int64_t terms, T alpha, bool b_conjugated,
                Real<T>* to) {
  using R = Real<T>;
  constexpr int64_t width = kMicroCols<R>;
  if constexpr (!kComplex<T>) {
    pack_block(a.at(i, p), a.col, a.row, terms, rows, width, to, width);
    if (alpha == T(1)) return;
    for (int64_t j = 0; j < terms * width; j++) to[j] *= alpha;
  } else {
    for (int64_t j = 0; j < terms; j++, to += 2 * width) {
      zero_row(to, 2 * width);
      for (int64_t k = 0; k < rows; k++) {
        const T x = times(alpha, conjugate(*a.at(i + k, p + j), a.conjugated));
        to[2 * k] = x.real(), to[2 * k + 1] = x.imag();
        to[width + 2 * k] = b_conjugated ? x.imag() : -x.imag();
        to[width + 2 * k + 1] = b_conjugated ? -x.real() : x.real();
      }
    }
  }
}

template <class R> struct Terms {
  int64_t count;
  const R* panel;
  const R* b;
  int64_t b_row, b_col;
};
// c[column][lane] += for `lanes` lanes of a panel; columns of c are c_col apart.
template <class R> void add_panel(const Terms<R>& t, int64_t lanes, int64_t columns, R* c, int64_t c_col) {
  constexpr int64_t width = kMicroCols<R>;
  if (lanes == width)
    return micro_rows<2, R>(columns, {t.count, t.b, t.b_col, t.b_row, t.panel, width, c, c_col, nullptr, true});
  alignas(64) R sums[24 * width];
  for (int64_t j = 0; j < columns; j += 24) {
    const int64_t n = std::min<int64_t>(24, columns - j);
    micro_rows<2, R>(n, {t.count, t.b + j * t.b_col, t.b_col, t.b_row, t.panel, width, sums, width, nullptr, false});
    for (int64_t q = 0; q < n; q++) {
      for (int64_t k = 0; k < lanes; k++) c[(j + q) * c_col + k] += sums[q * width + k];
    }
  }
}

template <class T>
void product(int64_t m, int64_t n, int64_t k, T alpha, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c) {
  using R = Real<T>;
  constexpr int64_t parts = kParts<T>, rows = kMicroCols<R> / parts, most = kTerms / parts;
  const int64_t panels = (m + rows - 1) / rows;
  const bool packs = kComplex<T> && b.row != 1;  // the parts of B's terms have to be neighbours
  const int64_t step = packs ? kColumns : std::max<int64_t>(n, 1);
  auto some = [&](int64_t first, int64_t last) {
    alignas(64) R panel[kTerms * kMicroCols<R>];
    alignas(64) R turned[kComplex<T> ? kTerms * kColumns : 1];
    for (int64_t p = 0; p < k; p += most) {
      const int64_t terms = std::min(most, k - p);
      for (int64_t j = 0; j < n; j += step) {
        const int64_t columns = std::min(step, n - j);
        Terms<R> t{terms * parts, panel, reinterpret_cast<const R*>(b.at(p, j)), parts == 2 ? 1 : b.row, b.col * parts};
        if (packs) {
          for (int64_t q = 0; q < columns; q++)
            for (int64_t r = 0; r < terms; r++) reinterpret_cast<T*>(turned)[q * most + r] = *b.at(p + r, j + q);
          t.b = turned, t.b_col = kTerms;
        }
        for (int64_t i = first; i < last; i++) {
          const int64_t count = std::min(rows, m - i * rows);
          pack_panel(a, i * rows, count, p, terms, alpha, b.conjugated, panel);
          add_panel(t, count * parts, columns, reinterpret_cast<R*>(c.at(i * rows, j)), c.col * parts);
        }
      }
    }
  };
  if (double(m) * double(n) * double(k) * parts < kParallel) return some(0, panels);
  parallel_for(panels, 1, some);
}

// y[i] += sum of x[j] A[i, j] over four columns at a time, for rows [first, last).
template <class T>
void add_columns(int64_t first, int64_t last, int64_t n, T alpha, MatrixView<const T> a, const T* x, int64_t x_step, T* y) {
  constexpr hn::ScalableTag<Real<T>> d;
  constexpr int64_t L = kLanes<Real<T>>;
  int64_t j = 0;
  if constexpr (!kComplex<T>) {
    for (; j + 4 <= n; j += 4) {
      const T* col[4];
      T s[4];
      for (int q = 0; q < 4; q++) col[q] = a.at(0, j + q), s[q] = alpha * x[(j + q) * x_step];
      int64_t i = first;
      for (; i + L <= last; i += L) {
        auto sum = hn::LoadU(d, y + i);
        DY_UNROLL for (int q = 0; q < 4; q++) sum = hn::MulAdd(hn::Set(d, s[q]), hn::LoadU(d, col[q] + i), sum);
        hn::StoreU(sum, d, y + i);
      }
      for (; i < last; i++) { DY_UNROLL for (int q = 0; q < 4; q++) y[i] += s[q] * col[q][i]; }
    }
  }
  for (; j < n; j++) {
    const T s = times(alpha, x[j * x_step]);
    const T* col = a.at(0, j);
    for (int64_t i = first; i < last; i++) y[i] += times(s, conjugate(col[i], a.conjugated));
  }
}
// sums[q] = the dot product of column q and x.
template <class T, int N> void dot_columns(int64_t m, const T* const (&col)[N], const T* x, bool conjugated, T (&sums)[N]) {
  if constexpr (kComplex<T>) {
    for (int q = 0; q < N; q++) {
      sums[q] = T(0);
      for (int64_t i = 0; i < m; i++) sums[q] += times(conjugate(col[q][i], conjugated), x[i]);
    }
  } else {
    constexpr hn::ScalableTag<T> d;
    constexpr int64_t L = kLanes<T>;
    hn::Vec<decltype(d)> sum[N][2];
    for (auto& s : sum) s[0] = s[1] = hn::Zero(d);
    int64_t i = 0;
    for (; i + 2 * L <= m; i += 2 * L) {
      DY_UNROLL for (int h = 0; h < 2; h++) {
        const auto v = hn::LoadU(d, x + i + h * L);
        DY_UNROLL for (int q = 0; q < N; q++) sum[q][h] = hn::MulAdd(v, hn::LoadU(d, col[q] + i + h * L), sum[q][h]);
      }
    }
    for (int q = 0; q < N; q++) {
      sums[q] = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum[q][0], sum[q][1])));
      for (int64_t r = i; r < m; r++) sums[q] += col[q][r] * x[r];
    }
  }
}

constexpr int64_t kStretch = 512;  // of a vector with a step, copied

template <class T>
void vector(bool turned, int64_t m, int64_t n, T alpha, MatrixView<const T> a, const T* x, int64_t x_step, T* y,
            int64_t y_step) {
  const bool small = m * n < kParallelElements;
  if (!turned) {
    auto rows = [&](int64_t begin, int64_t end) {
      if (y_step == 1) return add_columns(begin, end, n, alpha, a, x, x_step, y);
      T buffer[kStretch];
      for (int64_t i = begin; i < end; i += kStretch) {
        const int64_t count = std::min(kStretch, end - i);
        for (int64_t r = 0; r < count; r++) buffer[r] = y[(i + r) * y_step];
        add_columns(0, count, n, alpha, a.from(i, 0), x, x_step, buffer);
        for (int64_t r = 0; r < count; r++) y[(i + r) * y_step] = buffer[r];
      }
    };
    if (small) return rows(0, m);
    constexpr int64_t kRows = 128;
    return parallel_for((m + kRows - 1) / kRows, 1,
                        [&](int64_t begin, int64_t end) { rows(begin * kRows, std::min(m, end * kRows)); });
  }
  auto columns = [&](int64_t begin, int64_t end) {
    T buffer[kStretch];
    const int64_t stretch = x_step == 1 ? std::max<int64_t>(m, 1) : kStretch;
    for (int64_t i = 0; i < m; i += stretch) {
      const int64_t count = std::min(stretch, m - i);
      for (int64_t r = 0; x_step != 1 && r < count; r++) buffer[r] = x[(i + r) * x_step];
      const T* part = x_step == 1 ? x : buffer;
      int64_t j = begin;
      T sums[4];
      for (; j + 4 <= end; j += 4) {
        const T* const col[4] = {a.at(i, j), a.at(i, j + 1), a.at(i, j + 2), a.at(i, j + 3)};
        dot_columns(count, col, part, a.conjugated, sums);
        for (int q = 0; q < 4; q++) y[(j + q) * y_step] += times(alpha, sums[q]);
      }
      for (; j < end; j++) {
        const T* const col[1] = {a.at(i, j)};
        T sum[1];
        dot_columns(count, col, part, a.conjugated, sum);
        y[j * y_step] += times(alpha, sum[0]);
      }
    }
  };
  if (small) return columns(0, n);
  parallel_for((n + 63) / 64, 1, [&](int64_t begin, int64_t end) { columns(begin * 64, std::min(n, end * 64)); });
}

template <class T>
void outer(bool conjugated, int64_t m, int64_t n, T alpha, const T* x, int64_t x_step, const T* y, int64_t y_step,
           MatrixView<T> a) {
  T buffer[kStretch];
  for (int64_t i = 0; i < m; i += kStretch) {
    const int64_t count = std::min(kStretch, m - i);
    for (int64_t r = 0; r < count; r++) buffer[r] = x[(i + r) * x_step];
    for (int64_t j = 0; j < n; j++) {
      const T s = times(alpha, conjugate(y[j * y_step], conjugated));
      T* to = a.at(i, j);
      for (int64_t r = 0; r < count; r++) to[r] += times(s, buffer[r]);
    }
  }
}

// A column is read once, for its part of A x and for that of its mirror image; real ones two at a time.
template <class T> void hermitian(int64_t n, T alpha, MatrixView<const T> a, const T* x, T* y) {
  int64_t j = 0;
  if constexpr (!kComplex<T>) {
    constexpr hn::ScalableTag<T> d;
    constexpr int64_t L = kLanes<T>;
    for (; j + 2 <= n; j += 2) {
      const T *p = a.at(0, j), *q = a.at(0, j + 1);
      const T s = alpha * x[j], t = alpha * x[j + 1];
      T sp = p[j + 1] * x[j + 1], sq = 0;
      y[j + 1] += s * p[j + 1] + t * q[j + 1];
      auto vp = hn::Zero(d), vq = vp;
      int64_t i = j + 2;
      for (; i + L <= n; i += L) {
        const auto pv = hn::LoadU(d, p + i), qv = hn::LoadU(d, q + i), xv = hn::LoadU(d, x + i);
        hn::StoreU(hn::MulAdd(hn::Set(d, t), qv, hn::MulAdd(hn::Set(d, s), pv, hn::LoadU(d, y + i))), d, y + i);
        vp = hn::MulAdd(pv, xv, vp), vq = hn::MulAdd(qv, xv, vq);
      }
      sp += hn::GetLane(hn::SumOfLanes(d, vp)), sq += hn::GetLane(hn::SumOfLanes(d, vq));
      for (; i < n; i++) {
        y[i] += s * p[i] + t * q[i];
        sp += p[i] * x[i], sq += q[i] * x[i];
      }
      y[j] += s * p[j] + alpha * sp;
      y[j + 1] += alpha * sq;
    }
  }
  for (; j < n; j++) {
    const T* p = a.at(0, j);
    const T s = times(alpha, x[j]);
    T sum(0), diagonal = p[j];
    if constexpr (kComplex<T>) diagonal = p[j].real();
    for (int64_t i = j + 1; i < n; i++) {
      y[i] += times(s, p[i]);
      sum += times(conjugate(p[i], true), x[i]);
    }
    y[j] += times(s, diagonal) + times(alpha, sum);
  }
}

// The first of the largest of n numbers, NaN left out unless it is the first.
template <class T> int64_t largest_at(int64_t n, const T* x) {
  Real<T> most = -1;
  int64_t i = 0, at = 0;
  if (!(x[0] == x[0])) return 0;
  if constexpr (!kComplex<T>) {
    using V = Vec<T>;
    constexpr int64_t L = kLanes<T>;
    V best(-1);
    for (; i + L <= n; i += L) {
      const V v = abs(V::load(x + i));
      best = select(v > best, v, best);
    }
    most = reduce_max(best);
    for (int64_t r = i; r < n; r++) most = size_of(x[r]) > most ? size_of(x[r]) : most;
    for (i = 0; i + L <= n && !any(abs(V::load(x + i)) == V(most)); i += L) {}
    for (; i < n; i++)
      if (size_of(x[i]) == most) return i;
    return 0;
  }
  for (; i < n; i++)
    if (size_of(x[i]) > most) most = size_of(x[i]), at = i;
  return at;
}
// Column by column: what those before have eliminated is taken from it at once, so that it is written once.
template <class T> int factor(int64_t m, int64_t n, MatrixView<T> a, int* pivots) {
  constexpr Real<T> tiny = sizeof(Real<T>) == 4 ? Real<T>(__FLT_MIN__) : Real<T>(__DBL_MIN__);  // below, 1 / x may overflow
  auto swap = [](T& x, T& y) {
    const T z = x;
    x = y, y = z;
  };
  int info = 0;
  T u[kBlasSmall];
  for (int64_t j = 0; j < n; j++) {
    T* col = a.at(0, j);
    const int64_t above = std::min(j, m);
    for (int64_t k = 0; k < above; k++) swap(col[k], col[pivots[k] - 1]);
    for (int64_t k = 0; k < above; k++) {
      u[k] = col[k];
      for (int64_t l = 0; l < k; l++) u[k] -= times(*a.at(k, l), u[l]);
      col[k] = u[k];
    }
    if (j >= m) continue;
    add_columns<T>(0, m - j, j, T(-1), {a.at(j, 0), a.row, a.col}, u, 1, col + j);
    const int64_t p = j + largest_at(m - j, col + j);
    pivots[j] = int(p) + 1;
    if (col[p] == T(0)) {
      if (info == 0) info = int(j) + 1;
      continue;
    }
    for (int64_t c = 0; c <= j && p != j; c++) swap(*a.at(j, c), *a.at(p, c));
    const T pivot = col[j];
    if (kComplex<T> || !(size_of(pivot) < tiny)) {
      const T by = kComplex<T> ? divisor(pivot) : T(1) / pivot;
      for (int64_t i = j + 1; i < m; i++) col[i] = times(col[i], by);
    } else {
      for (int64_t i = j + 1; i < m; i++) col[i] = col[i] / pivot;
    }
  }
  return info;
}

// Rows of 64 columns at a time, which lie together.
template <class T> void load_lines(MatrixView<T> b, int64_t n, int64_t columns, T (*x)[kColumns]) {
  if constexpr (!kComplex<T>)
    if (b.row == 1 || b.col == 1) return pack_block(b.data, b.row, b.col, n, columns, columns, x[0], kColumns);
  for (int64_t i = 0; i < n; i++)
    for (int64_t q = 0; q < columns; q++) x[i][q] = *b.at(i, q);
}
template <class T> void store_lines(T (*x)[kColumns], int64_t n, int64_t columns, MatrixView<T> b) {
  if constexpr (!kComplex<T>)
    if (b.row == 1) return transpose_block(x[0], kColumns, n, columns, b.data, b.col);
  for (int64_t i = 0; i < n; i++)
    for (int64_t q = 0; q < columns; q++) *b.at(i, q) = x[i][q];
}
template <class T> void solve(bool lower, bool unit, int64_t n, int64_t columns, MatrixView<const T> a, MatrixView<T> b) {
  T factor[kBlasSmall][kBlasSmall];  // the diagonal as divisors
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : n); k++) factor[i][k] = conjugate(*a.at(i, k), a.conjugated);
    if (!unit) factor[i][i] = divisor(conjugate(*a.at(i, i), a.conjugated));
  }
  auto some = [&](int64_t first, int64_t last) {
    alignas(64) T x[kBlasSmall][kColumns];
    for (int64_t j = first * kColumns; j < std::min(columns, last * kColumns); j += kColumns) {
      const int64_t count = std::min(kColumns, columns - j);
      load_lines(b.from(0, j), n, count, x);
      for (int64_t r = 0; r < n; r++) {
        const int64_t i = lower ? r : n - 1 - r;
        for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : n); k++) {
          const T s = factor[i][k];
          for (int64_t q = 0; q < count; q++) x[i][q] -= times(s, x[k][q]);
        }
        for (int64_t q = 0; q < count && !unit; q++) x[i][q] = divide(x[i][q], factor[i][i]);
      }
      store_lines(x, n, count, b.from(0, j));
    }
  };
  const int64_t blocks = (columns + kColumns - 1) / kColumns;
  if (double(n) * double(n) * double(columns) < kParallel) return some(0, blocks);
  parallel_for(blocks, 1, some);
}

template <class T> constexpr BlasTable<T> table() {
  return {product<T>, vector<T>, outer<T>, hermitian<T>, factor<T>, solve<T>};
}

}  // namespace

extern const BlasKernel blas_kernel = {table<float>(), table<double>(), table<std::complex<float>>(),
                                       table<std::complex<double>>()};

}  // namespace dyadic::DY_ISA
