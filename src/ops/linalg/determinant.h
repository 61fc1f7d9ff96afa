// The two ops on determinants share the factors that they read them from.
#pragma once
#include <optional>

#include "ops/linalg/factor.h"
#include "ops/linalg/lu.h"
#include "ops/linalg/small_lu.h"

namespace dyadic::inline v1::ops {

// Of a batch of square matrices.
template <class T> struct Determinants {
  const Matrices& given;
  int64_t batch;
  int n, ld;
  std::optional<SmallInput<T>> small;
  T *lu = nullptr, *diagonals = nullptr;
  int* pivots = nullptr;

  Determinants(const Matrices& given, Scratch& s)
      : given(given), batch(count(batch_of(given.in[0]))), n(narrow_int(given.in[0].size(-1))), ld(column_distance<T>(n)) {
    if (is_small_lu(given.in[0])) {
      small.emplace(given.in[0], batch_of(given.in[0]), s);
      diagonals = s.take<T>(batch * n);
    } else {
      lu = s.take<T>(batch * ld * n);
      pivots = s.take<int>(pieces(batch) * n);
    }
  }
  // result(i, sign, U's diagonal at `diagonal`, `step` apart): the determinant is their product.
  template <class F> void factor(F result) {
    if (small) {
      small_lu<T>().diagonal(batch, n, small->read(), diagonals);
      return parallel_for(batch, (1 << 14) / n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) result(i, 1, diagonals + i, batch);
      });
    }
    load_columns_apart(given.in[0], batch_of(given.in[0]), lu, dtype_for<T>(), ld);
    for_each_matrix(batch, [&](int64_t i, int64_t piece) {
      T* m = lu + i * ld * n;
      int* p = pivots + piece * n;
      int info = 0;
      factor_lu(n, n, m, ld, p, &info);
      bool odd = false;
      for (int r = 0; r < n; ++r) odd ^= p[r] != r + 1;
      result(i, odd ? -1 : 1, m, int64_t(ld) + 1);
    });
  }
};

}  // namespace dyadic::inline v1::ops
