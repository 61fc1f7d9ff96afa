// Attention's backward pass over storage type S, computed in T. Only for files that are compiled per instruction set.
//
// With P = exp(scale q k^T - lse) and delta = rowsum(dout * out): dv = P^T dout, dS = P * (dout v^T - delta), dq = scale dS k,
// dk = scale dS^T q. P is computed again, block by block.
#pragma once
#include "ops/nn/attention_blocks.h"

namespace dyadic::DY_ISA {

template <class T> constexpr int64_t backward_slot(const AttentionShape& s) {
  const int64_t width = up_to(s.head_dim, kMicroCols<T>), line = 128 / sizeof(T);
  return up_to(kKeyStride * s.head_dim, line) * 2 + up_to(kKeyRows * width, line) * 3 + up_to(kQueryRows * width, line) * 2 +
         up_to(kQueryRows * kScoreStride, line) * 2 + up_to(s.tq, line) +
         up_to((s.tk > kKeyRows ? s.tq : kQueryRows) * width, line);
}

// One head.
template <class S, class T> struct BackwardTask {
  const AttentionBackward& f;
  const AttentionShape& shape;
  const Sight sight;
  const int64_t d, width;
  const S *q, *k, *v, *out, *dout;
  const T* lse;
  S *dq, *dk, *dv;
  T *kt, *kp, *vt, *dkp, *dvp, *qp, *op, *p, *ds, *delta, *dqp;
  const bool several;  // blocks of keys: dq is summed over them

  template <class V> static auto head(const V& view, int64_t b, int64_t h) { return (S*)view.data + b * view.b + h * view.h; }
  BackwardTask(const AttentionBackward& call, int64_t b, int64_t h)
      : f(call),
        shape(call.shape),
        sight{shape.tq, shape.tk, shape.causal},
        d(shape.head_dim),
        width(up_to(d, kMicroCols<T>)),
        q(head(f.q, b, h)),
        k(head(f.k, b, h)),
        v(head(f.v, b, h)),
        out(head(f.out, b, h)),
        dout(head(f.dout, b, h)),
        lse((const T*)f.lse + (b * shape.heads + h) * shape.tq),
        dq(head(f.dq, b, h)),
        dk(head(f.dk, b, h)),
        dv(head(f.dv, b, h)),
        several(shape.tk > kKeyRows) {
    Slot<T> slot(f.workspace, size_t(backward_slot<T>(shape)) * sizeof(T));
    kt = slot.take(kKeyStride * d), vt = slot.take(kKeyStride * d);
    for (T** p : {&kp, &dkp, &dvp}) *p = slot.take(kKeyRows * width);
    qp = slot.take(kQueryRows * width), op = slot.take(kQueryRows * width);
    p = slot.take(kQueryRows * kScoreStride), ds = slot.take(kQueryRows * kScoreStride);
    delta = slot.take(shape.tq);
    dqp = slot.take((several ? shape.tq : kQueryRows) * width);
    run();
  }

  void run() {
    if (several) {
      zero_row(dqp, shape.tq * width);
      deltas(0, shape.tq);
    }
    for (int64_t k0 = 0; k0 < shape.tk; k0 += kKeyRows) key_block(k0, at_most(kKeyRows, shape.tk - k0));
    if (several || shape.tk == 0)
      for (int64_t i = 0; i < shape.tq; i += kQueryRows) store_dq(i, at_most(kQueryRows, shape.tq - i));
  }
  void deltas(int64_t i, int64_t m) {
    for (const int64_t end = i + m; i < end; ++i) {
      if (i + kAhead < end) prefetch_row(out + (i + kAhead) * f.out.t, d), prefetch_row(dout + (i + kAhead) * f.dout.t, d);
      delta[i] = dot_row(out + i * f.out.t, dout + i * f.dout.t);
    }
  }
  T dot_row(const S* x, const S* y) const {
    using V = Vec<T>;
    V sum(0);
    int64_t j = 0;
    for (; j + kLanes<T> <= d; j += kLanes<T>) sum = fma(V(load_as(V::d, x + j)), V(load_as(V::d, y + j)), sum);
    T total = reduce_sum(sum);
    for (; j < d; ++j) total = total + load1<T>(x + j) * load1<T>(y + j);
    return total;
  }
  void store_dq(int64_t i, int64_t m) {
    T* from = several ? dqp + i * width : dqp;
    if (shape.tk == 0) zero_row(from, m * width);
    store_rows(from, width, m, d, T(shape.scale), dq + i * f.dq.t, f.dq.t);
  }

  void key_block(int64_t k0, int64_t keys) {
    load_transposed(k + k0 * f.k.t, f.k.t, keys, d, kt, kKeyStride);
    load_transposed(v + k0 * f.v.t, f.v.t, keys, d, vt, kKeyStride);
    load_rows(k + k0 * f.k.t, f.k.t, keys, d, T(1), kp, width);
    zero_row(dkp, keys * width);
    zero_row(dvp, keys * width);
    const int64_t from = several ? sight.first_query(k0) / kQueryRows * kQueryRows : 0;
    for (int64_t i = from; i < shape.tq; i += kQueryRows) query_block(i, at_most(kQueryRows, shape.tq - i), k0, keys);
    store_rows(dkp, width, keys, d, T(1), dk + k0 * f.dk.t, f.dk.t);
    store_rows(dvp, width, keys, d, T(1), dv + k0 * f.dv.t, f.dv.t);
  }
  void query_block(int64_t i, int64_t m, int64_t k0, int64_t keys) {
    const auto seen = [&](int64_t row) { return at_least(0, at_most(keys, sight.visible(i + row) - k0)); };
    if (seen(m - 1) == 0) {
      if (!several) zero_row(dqp, m * width), store_dq(i, m);
      return;
    }
    if (!several) deltas(i, m);
    Ahead ahead;
    const int64_t next = i + m, n = at_most(kQueryRows, shape.tq - next);
    ahead.add(dv + (k0 + i) * f.dv.t, f.dv.t, at_most(m, keys - i), d),
        ahead.add(dk + (k0 + i) * f.dk.t, f.dk.t, at_most(m, keys - i), d);
    ahead.add(dout + next * f.dout.t, f.dout.t, n, d), ahead.add(out + next * f.out.t, f.out.t, n, d);
    ahead.add(q + next * f.q.t, f.q.t, n, d), ahead.add(dq + i * f.dq.t, f.dq.t, m, d);
    load_rows(q + i * f.q.t, f.q.t, m, d, T(shape.scale), qp, width);
    load_rows(dout + i * f.dout.t, f.dout.t, m, d, T(1), op, width);
    const auto across = [&](int64_t row, int64_t n) { return Bounds{seen(row + n - 1), 0, d}; };
    product(m,
            MicroArgs<T>{.k = 0,
                         .a = qp,
                         .a_row = width,
                         .a_col = 1,
                         .b = kt,
                         .b_row = kKeyStride,
                         .c = p,
                         .c_row = kScoreStride,
                         .start = nullptr,
                         .add = false},
            across, ahead);
    product(m,
            MicroArgs<T>{.k = 0,
                         .a = op,
                         .a_row = width,
                         .a_col = 1,
                         .b = vt,
                         .b_row = kKeyStride,
                         .c = ds,
                         .c_row = kScoreStride,
                         .start = nullptr,
                         .add = false},
            across, ahead);
    for (int64_t row = 0; row < m; ++row)
      gradient_row(row, seen(row), at_most(up_to(keys, kLanes<T>), seen(row) + kMicroRows), i + row);
    // Keys [j, j + n) are seen by queries from first_query(j) on.
    const auto down = [&](int64_t j, int64_t) { return Bounds{d, at_most(m, at_least(0, sight.first_query(k0 + j) - i)), m}; };
    product(keys,
            MicroArgs<T>{.k = 0,
                         .a = p,
                         .a_row = 1,
                         .a_col = kScoreStride,
                         .b = op,
                         .b_row = width,
                         .c = dvp,
                         .c_row = width,
                         .start = nullptr,
                         .add = true},
            down, ahead);
    product(keys,
            MicroArgs<T>{.k = 0,
                         .a = ds,
                         .a_row = 1,
                         .a_col = kScoreStride,
                         .b = qp,
                         .b_row = width,
                         .c = dkp,
                         .c_row = width,
                         .start = nullptr,
                         .add = true},
            down, ahead);
    product(
        m,
        MicroArgs<T>{.k = 0,
                     .a = ds,
                     .a_row = kScoreStride,
                     .a_col = 1,
                     .b = kp,
                     .b_row = width,
                     .c = several ? dqp + i * width : dqp,
                     .c_row = width,
                     .start = nullptr,
                     .add = several},
        [&](int64_t row, int64_t n) { return Bounds{d, 0, seen(row + n - 1)}; }, ahead);
    if (!several) store_dq(i, m);
  }
  // n scores become P and dout v^T becomes dS; zeros up to `wanted`, which the register tiles read.
  void gradient_row(int64_t row, int64_t n, int64_t wanted, int64_t query) {
    using V = Vec<T>;
    constexpr int64_t L = kLanes<T>;
    T *s = p + row * kScoreStride, *g = ds + row * kScoreStride;
    const V top(n > 0 ? lse[query] : T(0)), shift(delta[query]);
    int64_t j = 0;
    for (; j + L <= n; j += L) {
      const V e = exp(V::load(s + j) - top);
      e.store(s + j);
      (e * (V::load(g + j) - shift)).store(g + j);
    }
    if (j < n) {
      const auto mask = Mask<T>::first_n(size_t(n - j));
      const V e = select(mask, exp(V::load(s + j) - top), V(0));
      const V x = select(mask, e * (V::load(g + j) - shift), V(0));
      e.store(s + j);
      x.store(g + j);
      j += L;
    }
    if (wanted > j) zero_row(s + j, wanted - j), zero_row(g + j, wanted - j);
  }
};

template <class S, class T> static void backward(const AttentionBackward& f) {
  const AttentionShape& s = f.shape;
  parallel_each(s.batch * s.heads, [&](int64_t i) { BackwardTask<S, T>(f, i / s.heads, i % s.heads); });
}

}  // namespace dyadic::DY_ISA
