// Attention's forward pass over storage type S, computed in T. Only for files that are compiled per instruction set.
#pragma once
#include "ops/nn/attention_blocks.h"

namespace dyadic::DY_ISA {

// Elements of one thread's slot; the same sum as the takes of ForwardTask.
template <class T> constexpr int64_t forward_slot(const AttentionShape& s) {
  const int64_t width = up_to(s.head_dim, kMicroCols<T>), line = 128 / sizeof(T);
  return up_to(kKeyStride * s.head_dim, line) + up_to(kKeyRows * width, line) + up_to(kGroupRows * width, line) * 2 +
         up_to(kQueryRows * kScoreStride, line) + 2 * up_to(kGroupRows, line);
}

// One group of queries of one head.
template <class S, class T> struct ForwardTask {
  const AttentionForward& f;
  const AttentionShape& shape;
  const Sight sight;
  const int64_t d, width, q0, rows;  // queries [q0, q0 + rows)
  const S *q, *k, *v;
  S* const out;
  T *kt, *vp, *qp, *o, *scores, *top, *sum;

  ForwardTask(const AttentionForward& call, int64_t b, int64_t h, int64_t group)
      : f(call),
        shape(call.shape),
        sight{shape.tq, shape.tk, shape.causal},
        d(shape.head_dim),
        width(up_to(d, kMicroCols<T>)),
        q0(group * kGroupRows),
        rows(at_most(kGroupRows, shape.tq - q0)),
        q((const S*)f.q.data + b * f.q.b + h * f.q.h + q0 * f.q.t),
        k((const S*)f.k.data + b * f.k.b + h * f.k.h),
        v((const S*)f.v.data + b * f.v.b + h * f.v.h),
        out((S*)f.out.data + b * f.out.b + h * f.out.h + q0 * f.out.t) {
    Slot<T> slot(f.workspace, size_t(forward_slot<T>(shape)) * sizeof(T));
    kt = slot.take(kKeyStride * d), vp = slot.take(kKeyRows * width);
    qp = slot.take(kGroupRows * width), o = slot.take(kGroupRows * width);
    scores = slot.take(kQueryRows * kScoreStride);
    top = slot.take(kGroupRows), sum = slot.take(kGroupRows);
    run();
    finish((T*)f.lse + (b * shape.heads + h) * shape.tq + q0);
  }

  void run() {
    load_rows(q, f.q.t, rows, d, T(shape.scale), qp, width);
    fill(top, rows, T(-kInf));
    fill(sum, rows, T(0));
    zero_row(o, rows * width);
    const int64_t seen = sight.visible(q0 + rows - 1);
    for (int64_t k0 = 0; k0 < seen; k0 += kKeyRows) {
      const int64_t keys = at_most(kKeyRows, seen - k0);
      load_transposed(k + k0 * f.k.t, f.k.t, keys, d, kt, kKeyStride);
      load_rows(v + k0 * f.v.t, f.v.t, keys, d, T(1), vp, width);
      for (int64_t i = 0; i < rows; i += kQueryRows) block(i, at_most(kQueryRows, rows - i), k0, keys);
    }
  }
  // Queries [i, i + m) of the group against the packed keys.
  void block(int64_t i, int64_t m, int64_t k0, int64_t keys) {
    const auto seen = [&](int64_t row) { return at_least(0, at_most(keys, sight.visible(q0 + i + row) - k0)); };
    if (seen(m - 1) == 0) return;
    Ahead ahead;
    ahead.add(out + i * f.out.t, f.out.t, m, d);
    product(
        m,
        MicroArgs<T>{.k = 0,
                     .a = qp + i * width,
                     .a_row = width,
                     .a_col = 1,
                     .b = kt,
                     .b_row = kKeyStride,
                     .c = scores,
                     .c_row = kScoreStride,
                     .start = nullptr,
                     .add = false},
        [&](int64_t row, int64_t n) { return Bounds{seen(row + n - 1), 0, d}; }, ahead);
    for (int64_t row = 0; row < m; ++row) {
      const int64_t n = seen(row), wanted = seen(at_most(m - 1, row + kMicroRows - 1));
      softmax_row(scores + row * kScoreStride, n, wanted, i + row);
    }
    product(
        m,
        MicroArgs<T>{.k = 0,
                     .a = scores,
                     .a_row = kScoreStride,
                     .a_col = 1,
                     .b = vp,
                     .b_row = width,
                     .c = o + i * width,
                     .c_row = width,
                     .start = nullptr,
                     .add = true},
        [&](int64_t row, int64_t n) { return Bounds{d, 0, seen(row + n - 1)}; }, ahead);
  }
  // n scores become exp(score - maximum), zeros up to `wanted`; what came before is scaled to the new maximum.
  void softmax_row(T* s, int64_t n, int64_t wanted, int64_t row) {
    using V = Vec<T>;
    constexpr int64_t L = kLanes<T>;
    if (n == 0) return zero_row(s, wanted);
    V most(-kInf);
    int64_t j = 0;
    for (; j + L <= n; j += L) most = hn::Max(V::load(s + j).v, most.v);
    for (; j < n; j += L) most = hn::Max(select(Mask<T>::first_n(size_t(n - j)), V::load(s + j), V(-kInf)).v, most.v);
    T peak = hn::GetLane(hn::MaxOfLanes(V::d, most.v));
    peak = peak > top[row] ? peak : top[row];  // a NaN is left out here; exp brings it back
    const T base = peak == T(-kInf) ? T(0) : peak;
    V total(0);
    for (j = 0; j + L <= n; j += L) {
      const V e = exp(V::load(s + j) - base);
      e.store(s + j);
      total += e;
    }
    if (j < n) {
      const V e = select(Mask<T>::first_n(size_t(n - j)), exp(V::load(s + j) - base), V(0));
      e.store(s + j);
      total += e;
      j += L;
    }
    if (wanted > j) zero_row(s + j, wanted - j);
    const T added = reduce_sum(total);
    if (peak != top[row] && sum[row] != 0) {
      const T factor = one_exp(top[row] - base);
      sum[row] = sum[row] * factor;
      T* out = o + row * width;
      for (int64_t c = 0; c < width; c += L) (V::load(out + c) * factor).store(out + c);
    }
    sum[row] = sum[row] + added;
    top[row] = peak;
  }
  static T one_exp(T x) { return hn::GetLane(exp(Vec<T>(x)).v); }

  void finish(T* lse) {
    using V = Vec<T>;
    constexpr int64_t L = kLanes<T>;
    for (int64_t i = 0; i < rows; ++i) {
      const bool blind = sight.visible(q0 + i) == 0;
      if (blind) zero_row(o + i * width, width);
      store_rows(o + i * width, width, 1, d, blind ? T(0) : T(1) / sum[i], out + i * f.out.t, f.out.t);
    }
    for (int64_t i = 0; i < rows; i += L) {  // the arrays have room for whole vectors
      const V x = V::load(top + i) + log(V::load(sum + i));
      if (i + L <= rows)
        x.store(lse + i);
      else
        x.store_n(lse + i, size_t(rows - i));
    }
  }
};

template <class S, class T> static void forward(const AttentionForward& f) {
  const AttentionShape& s = f.shape;
  const int64_t heads = s.batch * s.heads, groups = (s.tq + kGroupRows - 1) / kGroupRows;
  // The last groups see the most keys: they go first, so that the threads end together.
  parallel_each(heads * groups, [&](int64_t i) {
    const int64_t bh = i % heads, group = groups - 1 - i / heads;
    ForwardTask<S, T>(f, bh / s.heads, bh % s.heads, group);
  });
}

}  // namespace dyadic::DY_ISA
