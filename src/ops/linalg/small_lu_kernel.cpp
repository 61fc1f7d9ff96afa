// A lane is a matrix: vector (i, j) has that element of as many matrices, and rows are exchanged where a lane's pivot says so.
// The sizes that are most often met are constants, whose loops vanish and whose vectors stay in registers.
#include "ops/linalg/small_lu_kernel.h"

#include <type_traits>

#include "base/simd/simd.h"
#include "ops/linalg/blas_numbers.h"

namespace dyadic::DY_ISA {
namespace {

template <class T> constexpr int kMatrices = int(Vec<Real<T>>::size());
template <class T> using Lanes = std::conditional_t<kComplex<T>, Complex<Vec<Real<T>>>, Vec<T>>;
constexpr int64_t kParallel = 1 << 15;  // multiplications worth another thread

// Room for n vectors, not yet set.
template <class E, int n> union Room {
  E at[n];
  DY_INLINE Room() {}
};

template <class R> DY_INLINE Vec<R> size_of(Vec<R> x) { return abs(x); }
template <class R> DY_INLINE Vec<R> size_of(Complex<Vec<R>> x) { return abs(x.re) + abs(x.im); }
template <class R> DY_INLINE Vec<R> less_product(Vec<R> x, Vec<R> a, Vec<R> b) { return fnma(a, b, x); }
template <class R> DY_INLINE Complex<Vec<R>> less_product(Complex<Vec<R>> x, Complex<Vec<R>> a, Complex<Vec<R>> b) {
  return {fma(a.im, b.im, fnma(a.re, b.re, x.re)), fnma(a.im, b.re, fnma(a.re, b.im, x.im))};
}

// Element `at` of every lane's matrix.
template <class T> DY_INLINE Lanes<T> gather(const T* const* from, int64_t at) {
  using R = Real<T>;
  alignas(64) R re[kMatrices<T>];
  if constexpr (kComplex<T>) {
    alignas(64) R im[kMatrices<T>];
    for (int l = 0; l < kMatrices<T>; l++) re[l] = from[l][at].real(), im[l] = from[l][at].imag();
    return {Vec<R>::load(re), Vec<R>::load(im)};
  } else {
    for (int l = 0; l < kMatrices<T>; l++) re[l] = from[l][at];
    return Vec<R>::load(re);
  }
}
template <class T> DY_INLINE void scatter(Lanes<T> x, T* const* to, int64_t at, int count) {
  using R = Real<T>;
  alignas(64) R re[kMatrices<T>];
  if constexpr (kComplex<T>) {
    alignas(64) R im[kMatrices<T>];
    x.re.store(re), x.im.store(im);
    for (int l = 0; l < count; l++) to[l][at] = T(re[l], im[l]);
  } else {
    x.store(re);
    for (int l = 0; l < count; l++) to[l][at] = re[l];
  }
}
template <class R> DY_INLINE void store_whole(Vec<R> x, int* to, int64_t step, int count) {
  alignas(64) R value[Vec<R>::size()];
  x.store(value);
  for (int l = 0; l < count; l++) to[l * step] = int(value[l]);
}

// The matrices of lanes: the last one of a batch stands in for those that a vector has no more of.
template <class T> struct Pointers {
  T* at[kMatrices<std::remove_const_t<T>>];
  DY_INLINE Pointers(SmallMatrices<T> m, int64_t first, int count, const int* places = nullptr) {
    for (int l = 0; l < kMatrices<std::remove_const_t<T>>; l++) at[l] = m.data + m.step * number(first, count, l, places);
  }
  static DY_INLINE int64_t number(int64_t first, int count, int lane, const int* places) {
    const int64_t i = first + (lane < count ? lane : count - 1);
    return places ? places[i] : i;
  }
};

// N: the rows and columns, or 0 where they are not known.
template <class T, int N> struct SmallLu {
  using R = Real<T>;
  using V = Vec<R>;
  using E = Lanes<T>;
  static constexpr int kStep = N ? N : kSmallLu;

  const int m, n;
  Room<E, kStep * kStep> a;  // by columns
  V pivots[kStep];           // rows from 0
  V info;

  DY_INLINE SmallLu(int rows, int columns) : m(N ? N : rows), n(N ? N : columns), info(0) {}
  DY_INLINE E& at(int i, int j) { return a.at[j * kStep + i]; }

  DY_INLINE void load(SmallMatrices<const T> from, int64_t first, int count, const int* places = nullptr) {
    const Pointers<const T> p(from, first, count, places);
    for (int i = 0; i < m; i++)
      for (int j = 0; j < n; j++) at(i, j) = gather(p.at, i * from.row + j * from.col);
  }

  // Column by column: what those before have eliminated is taken from it at once, so that it is written once.
  DY_INLINE void factor() {
    for (int j = 0; j < n; j++) {
      for (int i = 0; i < m; i++) {
        E x = at(i, j);
        for (int k = 0; k < (i < j ? i : j); k++) x = less_product(x, at(i, k), at(k, j));
        at(i, j) = x;
      }
      if (j < m) eliminate(j);
    }
  }
  DY_INLINE void eliminate(int j) {
    V most = size_of(at(j, j)), p = R(j);
    for (int i = j + 1; i < m; i++) {  // NaN is no pivot unless it is the first
      const V size = size_of(at(i, j));
      const Mask<R> more = size > most;
      most = select(more, size, most), p = select(more, V(i), p);
    }
    pivots[j] = p;
    exchange(j, m, n, a.at);
    const E pivot = at(j, j);
    const Mask<R> none = pivot == E(0);
    info = select(none & (info == V(0)), V(j + 1), info);
    for (int i = j + 1; i < m; i++) at(i, j) = select(none, at(i, j), at(i, j) / pivot);
  }
  // Row j of x [rows, columns] and the pivots' rows.
  DY_INLINE void exchange(int j, int rows, int columns, E* x) {
    for (int i = j + 1; i < rows; i++) {
      const Mask<R> here = pivots[j] == V(i);
      if (N == 0 && !any(here)) continue;
      for (int c = 0; c < columns; c++) {
        E &up = x[c * kStep + j], &down = x[c * kStep + i];
        const E old = up;
        up = select(here, down, old), down = select(here, old, down);
      }
    }
  }
  // x [n, columns] becomes the solution; n = m.
  DY_INLINE void solve(int columns, E* x) {
    for (int j = 0; j + 1 < n; j++) exchange(j, n, columns, x);
    for (int c = 0; c < columns; c++, x += kStep) {
      for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++) x[i] = less_product(x[i], at(i, k), x[k]);
      for (int i = n - 1; i >= 0; i--) {
        for (int k = n - 1; k > i; k--) x[i] = less_product(x[i], at(i, k), x[k]);
        x[i] = x[i] / at(i, i);
      }
    }
  }
};

// f(first, count) for the matrices of every vector; `each`: multiplications for one.
template <class T, class F> void for_lanes(int64_t batch, int64_t each, F&& f) {
  constexpr int64_t L = kMatrices<T>;
  parallel_for((batch + L - 1) / L, kParallel / (each * L) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; g++) f(g * L, int(std::min(L, batch - g * L)));
  });
}
// f<N>() for the rows and columns of a matrix.
template <class F> void by_size(int m, int n, F&& f) {
  if (m == 2 && n == 2) return f.template operator()<2>();
  if (m == 3 && n == 3) return f.template operator()<3>();
  if (m == 4 && n == 4) return f.template operator()<4>();
  f.template operator()<0>();
}

template <class T>
void factor(int64_t batch, int m, int n, SmallMatrices<const T> a, SmallMatrices<T> lu, int* pivots, int* info) {
  const int k = std::min(m, n);
  by_size(m, n, [&]<int N>() {
    for_lanes<T>(batch, m * n * k, [&](int64_t first, int count) {
      SmallLu<T, N> f(m, n);
      f.load(a, first, count);
      f.factor();
      const Pointers<T> to(lu, first, count);
      for (int i = 0; i < f.m; i++)
        for (int j = 0; j < f.n; j++) scatter<T>(f.at(i, j), to.at, i * lu.row + j * lu.col, count);
      for (int j = 0; j < k; j++) store_whole(f.pivots[j] + 1, pivots + first * k + j, k, count);
      store_whole(f.info, info + first, 1, count);
    });
  });
}

template <class T> void diagonal(int64_t batch, int n, SmallMatrices<const T> a, T* to) {
  by_size(n, n, [&]<int N>() {
    for_lanes<T>(batch, n * n * n, [&](int64_t first, int count) {
      using V = Vec<Real<T>>;
      SmallLu<T, N> f(n, n);
      f.load(a, first, count);
      f.factor();
      V sign(1);
      for (int j = 0; j < f.n; j++) sign = select(f.pivots[j] == V(j), sign, -sign);
      f.at(0, 0) = select(sign == V(1), f.at(0, 0), -f.at(0, 0));
      const Pointers<T> p({to, 1, 0, 0}, first, count);
      for (int j = 0; j < f.n; j++) scatter<T>(f.at(j, j), p.at, j * batch, count);
    });
  });
}

template <class T> void invert(int64_t batch, int n, SmallMatrices<const T> a, SmallMatrices<T> inverse, int* info) {
  by_size(n, n, [&]<int N>() {
    for_lanes<T>(batch, n * n * n, [&](int64_t first, int count) {
      SmallLu<T, N> f(n, n);
      f.load(a, first, count);
      f.factor();
      Room<Lanes<T>, f.kStep * f.kStep> x;
      for (int j = 0; j < f.n; j++)
        for (int i = 0; i < f.n; i++) x.at[j * f.kStep + i] = i == j ? 1 : 0;
      f.solve(f.n, x.at);
      const Pointers<T> to(inverse, first, count);
      for (int i = 0; i < f.n; i++)
        for (int j = 0; j < f.n; j++) scatter<T>(x.at[j * f.kStep + i], to.at, i * inverse.row + j * inverse.col, count);
      store_whole(f.info, info + first, 1, count);
    });
  });
}

template <class T>
void solve(int64_t batch, int n, int64_t columns, SmallMatrices<const T> lu, const int* pivots, const int* places,
           SmallMatrices<const T> b, SmallMatrices<T> x) {
  constexpr int64_t kColumns = 4;  // at a time
  by_size(n, n, [&]<int N>() {
    for_lanes<T>(batch, n * n * (columns + 1), [&](int64_t first, int count) {
      SmallLu<T, N> f(n, n);
      f.load(lu, first, count, places);
      for (int j = 0; j < f.n; j++) {
        alignas(64) Real<T> row[kMatrices<T>];
        for (int l = 0; l < kMatrices<T>; l++)
          row[l] = Real<T>(pivots[Pointers<T>::number(first, count, l, places) * n + j] - 1);
        f.pivots[j] = Vec<Real<T>>::load(row);
      }
      const Pointers<const T> from(b, first, count);
      const Pointers<T> to(x, first, count);
      Room<Lanes<T>, f.kStep * kColumns> some;
      for (int64_t c = 0; c < columns; c += kColumns) {
        const int now = int(std::min(kColumns, columns - c));
        for (int i = 0; i < f.n; i++)
          for (int j = 0; j < now; j++) some.at[j * f.kStep + i] = gather(from.at, i * b.row + (c + j) * b.col);
        f.solve(now, some.at);
        for (int i = 0; i < f.n; i++)
          for (int j = 0; j < now; j++) scatter<T>(some.at[j * f.kStep + i], to.at, i * x.row + (c + j) * x.col, count);
      }
    });
  });
}

template <class T> constexpr SmallLuTable<T> table() { return {factor<T>, diagonal<T>, invert<T>, solve<T>}; }

}  // namespace

extern const SmallLuKernel small_lu_kernel = {table<float>(), table<double>(), table<std::complex<float>>(),
                                              table<std::complex<double>>()};

}  // namespace dyadic::DY_ISA
