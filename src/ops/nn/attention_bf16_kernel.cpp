// Attention of bf16 with vdpbf16ps: every product multiplies pairs of neighbours along the summed dimension, so each operand is
// packed as 32-bit pairs. Probabilities and their gradients are rounded to bf16 before they are multiplied on.
#include "ops/nn/attention_dot.h"

namespace dyadic::DY_ISA {

#if DY_ISA_avx512
namespace {

using V = Vec<float>;

struct Sizes {
  int64_t d, width;
  explicit Sizes(const AttentionShape& s) : d(s.head_dim), width(up_to(s.head_dim, 32)) {}
  static int64_t line(int64_t floats) { return up_to(floats, 32); }
  int64_t copy() const { return line(kKeyRows * width / 2); }      // keys or values as they are
  int64_t columns() const { return line(pairs(d) * kKeyStride); }  // pair_columns of a block of keys
  int64_t rows() const { return line(kKeyRows / 2 * width); }      // pair_rows of it
  int64_t query() const { return line(kQueryRows * width / 2); }   // one of the two of a block of queries
  int64_t scores() const { return line(kQueryRows * kScoreStride); }
};
int64_t forward_floats(const AttentionShape& s) {
  const Sizes z(s);
  return z.copy() + z.columns() + z.rows() + z.line(kGroupRows * z.width / 2) + z.line(kGroupRows * z.width) + z.scores() +
         z.scores() / 2 + 2 * z.line(kGroupRows);
}

struct Forward {
  const AttentionForward& f;
  const AttentionShape& shape;
  const Sight sight;
  const Sizes z;
  const int64_t d, width, q0, rows;
  const uint16_t *q, *k, *v;
  uint16_t *copy, *qp, *prob, *out;
  uint32_t *kt, *vp;
  float *o, *scores, *top, *sum;

  Forward(const AttentionForward& call, int64_t b, int64_t h, int64_t group)
      : f(call),
        shape(call.shape),
        sight{shape.tq, shape.tk, shape.causal},
        z(shape),
        d(z.d),
        width(z.width),
        q0(group * kGroupRows),
        rows(at_most(kGroupRows, shape.tq - q0)),
        q((const uint16_t*)f.q.data + b * f.q.b + h * f.q.h + q0 * f.q.t),
        k((const uint16_t*)f.k.data + b * f.k.b + h * f.k.h),
        v((const uint16_t*)f.v.data + b * f.v.b + h * f.v.h),
        out((uint16_t*)f.out.data + b * f.out.b + h * f.out.h + q0 * f.out.t) {
    Slot<float> slot(f.workspace, size_t(forward_floats(shape)) * 4);
    copy = (uint16_t*)slot.take(z.copy());
    kt = (uint32_t*)slot.take(z.columns()), vp = (uint32_t*)slot.take(z.rows());
    qp = (uint16_t*)slot.take(kGroupRows * width / 2), o = slot.take(kGroupRows * width);
    scores = slot.take(z.scores()), prob = (uint16_t*)slot.take(z.scores() / 2);
    top = slot.take(kGroupRows), sum = slot.take(kGroupRows);
    run();
    finish((float*)f.lse + (b * shape.heads + h) * shape.tq + q0);
  }
  void run() {
    copy_rows(q, f.q.t, rows, d, qp, width);
    fill(top, rows, float(-kInf));
    fill(sum, rows, 0.0f);
    zero_row(o, rows * width);
    const int64_t seen = sight.visible(q0 + rows - 1);
    for (int64_t k0 = 0; k0 < seen; k0 += kKeyRows) {
      const int64_t keys = at_most(kKeyRows, seen - k0);
      copy_rows(k + k0 * f.k.t, f.k.t, keys, d, copy, width);
      pair_columns(copy, keys, width, d, kt, kKeyStride);
      copy_rows(v + k0 * f.v.t, f.v.t, keys, d, copy, width);
      pair_rows(copy, keys, width, vp);
      for (int64_t i = 0; i < rows; i += kQueryRows) block(i, at_most(kQueryRows, rows - i), k0, keys);
    }
  }
  void block(int64_t i, int64_t m, int64_t k0, int64_t keys) {
    const auto seen = [&](int64_t row) { return at_least(0, at_most(keys, sight.visible(q0 + i + row) - k0)); };
    if (seen(m - 1) == 0) return;
    Ahead ahead;
    ahead.add(out + i * f.out.t, f.out.t, m, d);
    product(
        m,
        DotArgs{.k = 0,
                .a = (const uint32_t*)(qp + i * width),
                .a_row = width / 2,
                .a_col = 1,
                .b = kt,
                .b_row = kKeyStride,
                .c = scores,
                .c_row = kScoreStride,
                .add = false},
        [&](int64_t row, int64_t n) { return Bounds{seen(row + n - 1), 0, pairs(d)}; }, ahead);
    for (int64_t row = 0; row < m; ++row)
      softmax_row(row, seen(row), up_to(seen(at_most(m - 1, row + kMicroRows - 1)), 2), i + row);
    product(
        m,
        DotArgs{.k = 0,
                .a = (const uint32_t*)prob,
                .a_row = kScoreStride / 2,
                .a_col = 1,
                .b = vp,
                .b_row = width,
                .c = o + i * width,
                .c_row = width,
                .add = true},
        [&](int64_t row, int64_t n) { return Bounds{d, 0, pairs(seen(row + n - 1))}; }, ahead);
  }
  // As ForwardTask::softmax_row, but the scores are scaled here: bf16 queries cannot hold the factor.
  DY_BF16 void softmax_row(int64_t row, int64_t n, int64_t wanted, int64_t at) {
    const float* s = scores + row * kScoreStride;
    uint16_t* p = prob + row * kScoreStride;
    if (n == 0) return zero16(p, wanted);
    const V scale(float(shape.scale));
    V most(-kInf);
    for (int64_t j = 0; j < n; j += 16) {
      const V x = V::load(s + j) * scale;
      most = hn::Max((n - j < 16 ? select(Mask<float>::first_n(size_t(n - j)), x, V(-kInf)) : x).v, most.v);
    }
    float peak = hn::GetLane(hn::MaxOfLanes(V::d, most.v));
    peak = peak > top[at] ? peak : top[at];
    const float base = peak == float(-kInf) ? 0.0f : peak;
    V total(0);
    int64_t j = 0;
    for (; j < n; j += 16) {
      V e = exp(V::load(s + j) * scale - base);
      if (n - j < 16) e = select(Mask<float>::first_n(size_t(n - j)), e, V(0));
      store_bf16(e.v.raw, p + j);
      total += e;
    }
    if (wanted > j) zero16(p + j, wanted - j);
    if (peak != top[at] && sum[at] != 0) {
      const float factor = hn::GetLane(exp(V(top[at] - base)).v);
      sum[at] = sum[at] * factor;
      float* x = o + at * width;
      for (int64_t c = 0; c < width; c += 16) (V::load(x + c) * factor).store(x + c);
    }
    sum[at] = sum[at] + reduce_sum(total);
    top[at] = peak;
  }
  void finish(float* lse) {
    for (int64_t i = 0; i < rows; ++i) {
      const bool blind = sight.visible(q0 + i) == 0;
      if (blind) zero_row(o + i * width, width);
      store_rows(o + i * width, width, 1, d, blind ? 0.0f : 1.0f / sum[i], (Bf16*)out + i * f.out.t, f.out.t);
    }
    for (int64_t i = 0; i < rows; i += 16) {
      const V x = V::load(top + i) + log(V::load(sum + i));
      if (i + 16 <= rows)
        x.store(lse + i);
      else
        x.store_n(lse + i, size_t(rows - i));
    }
  }
};

int64_t backward_floats(const AttentionShape& s) {
  const Sizes z(s);
  return z.copy() + 2 * z.columns() + z.rows() + 2 * z.line(kKeyRows * z.width) + 4 * z.query() + 2 * z.scores() +
         3 * z.scores() / 2 + z.line(s.tq) + z.line((s.tk > kKeyRows ? s.tq : kQueryRows) * z.width);
}

struct Backward {
  const AttentionBackward& f;
  const AttentionShape& shape;
  const Sight sight;
  const Sizes z;
  const int64_t d, width;
  const uint16_t *q, *k, *v, *out, *dout;
  const float* lse;
  uint16_t *dq, *dk, *dv;
  uint16_t *copy, *qc, *oc, *dsr;
  uint32_t *kt, *vt, *kp, *q2, *o2, *p2, *ds2;
  float *dkp, *dvp, *s, *g, *delta, *dqp;
  const bool several;

  template <class View> static uint16_t* head(const View& view, int64_t b, int64_t h) {
    return (uint16_t*)view.data + b * view.b + h * view.h;
  }
  Backward(const AttentionBackward& call, int64_t b, int64_t h)
      : f(call),
        shape(call.shape),
        sight{shape.tq, shape.tk, shape.causal},
        z(shape),
        d(z.d),
        width(z.width),
        q(head(f.q, b, h)),
        k(head(f.k, b, h)),
        v(head(f.v, b, h)),
        out(head(f.out, b, h)),
        dout(head(f.dout, b, h)),
        lse((const float*)f.lse + (b * shape.heads + h) * shape.tq),
        dq(head(f.dq, b, h)),
        dk(head(f.dk, b, h)),
        dv(head(f.dv, b, h)),
        several(shape.tk > kKeyRows) {
    Slot<float> slot(f.workspace, size_t(backward_floats(shape)) * 4);
    copy = (uint16_t*)slot.take(z.copy());
    kt = (uint32_t*)slot.take(z.columns()), vt = (uint32_t*)slot.take(z.columns()), kp = (uint32_t*)slot.take(z.rows());
    dkp = slot.take(kKeyRows * width), dvp = slot.take(kKeyRows * width);
    qc = (uint16_t*)slot.take(z.query()), oc = (uint16_t*)slot.take(z.query());
    q2 = (uint32_t*)slot.take(z.query()), o2 = (uint32_t*)slot.take(z.query());
    s = slot.take(z.scores()), g = slot.take(z.scores());
    p2 = (uint32_t*)slot.take(z.scores() / 2), ds2 = (uint32_t*)slot.take(z.scores() / 2);
    dsr = (uint16_t*)slot.take(z.scores() / 2);
    delta = slot.take(shape.tq);
    dqp = slot.take((several ? shape.tq : kQueryRows) * width);
    run();
  }
  void run() {
    for (int64_t i = 0; i < shape.tq; ++i) delta[i] = dot_row(out + i * f.out.t, dout + i * f.dout.t);
    if (several) zero_row(dqp, shape.tq * width);
    for (int64_t k0 = 0; k0 < shape.tk; k0 += kKeyRows) key_block(k0, at_most(kKeyRows, shape.tk - k0));
    if (several || shape.tk == 0)
      for (int64_t i = 0; i < shape.tq; i += kQueryRows) store_dq(i, at_most(kQueryRows, shape.tq - i));
  }
  float dot_row(const uint16_t* x, const uint16_t* y) const {
    V sum(0);
    int64_t j = 0;
    for (; j + 16 <= d; j += 16) sum = fma(V(load_as(V::d, (const Bf16*)x + j)), V(load_as(V::d, (const Bf16*)y + j)), sum);
    float total = reduce_sum(sum);
    for (; j < d; ++j) total = total + bf16_value(x[j]) * bf16_value(y[j]);
    return total;
  }
  void store_dq(int64_t i, int64_t m) {
    float* from = several ? dqp + i * width : dqp;
    if (shape.tk == 0) zero_row(from, m * width);
    store_rows(from, width, m, d, float(shape.scale), (Bf16*)dq + i * f.dq.t, f.dq.t);
  }
  void key_block(int64_t k0, int64_t keys) {
    copy_rows(k + k0 * f.k.t, f.k.t, keys, d, copy, width);
    pair_columns(copy, keys, width, d, kt, kKeyStride);
    pair_rows(copy, keys, width, kp);
    copy_rows(v + k0 * f.v.t, f.v.t, keys, d, copy, width);
    pair_columns(copy, keys, width, d, vt, kKeyStride);
    zero_row(dkp, keys * width);
    zero_row(dvp, keys * width);
    const int64_t from = several ? sight.first_query(k0) / kQueryRows * kQueryRows : 0;
    for (int64_t i = from; i < shape.tq; i += kQueryRows) query_block(i, at_most(kQueryRows, shape.tq - i), k0, keys);
    store_rows(dkp, width, keys, d, float(shape.scale), (Bf16*)dk + k0 * f.dk.t, f.dk.t);
    store_rows(dvp, width, keys, d, 1.0f, (Bf16*)dv + k0 * f.dv.t, f.dv.t);
  }
  void query_block(int64_t i, int64_t m, int64_t k0, int64_t keys) {
    const auto seen = [&](int64_t row) { return row < m ? at_least(0, at_most(keys, sight.visible(i + row) - k0)) : 0; };
    if (seen(m - 1) == 0) {
      if (!several) zero_row(dqp, m * width), store_dq(i, m);
      return;
    }
    Ahead ahead;
    const int64_t next = i + m, n = at_most(kQueryRows, shape.tq - next);
    ahead.add(dv + (k0 + i) * f.dv.t, f.dv.t, at_most(m, keys - i), d),
        ahead.add(dk + (k0 + i) * f.dk.t, f.dk.t, at_most(m, keys - i), d);
    ahead.add(q + next * f.q.t, f.q.t, n, d), ahead.add(dq + i * f.dq.t, f.dq.t, m, d);
    copy_rows(q + i * f.q.t, f.q.t, m, d, qc, width);
    copy_rows(dout + i * f.dout.t, f.dout.t, m, d, oc, width);
    pair_rows(qc, m, width, q2);
    pair_rows(oc, m, width, o2);
    const auto across = [&](int64_t row, int64_t rows) { return Bounds{seen(row + rows - 1), 0, pairs(d)}; };
    DotArgs args{.k = 0,
                 .a = (const uint32_t*)qc,
                 .a_row = width / 2,
                 .a_col = 1,
                 .b = kt,
                 .b_row = kKeyStride,
                 .c = s,
                 .c_row = kScoreStride,
                 .add = false};
    product(m, args, across, ahead);
    args.a = (const uint32_t*)oc, args.b = vt, args.c = g;
    product(m, args, across, ahead);
    for (int64_t row = 0; row < m; row += 2) {
      const int64_t a = seen(row), b = seen(row + 1);
      gradient_rows(row, a, b, at_most(up_to(keys, 16), up_to(at_least(a, b) + kMicroRows, 16)), i + row);
    }
    const auto down = [&](int64_t j, int64_t) {
      return Bounds{d, at_most(m, at_least(0, sight.first_query(k0 + j) - i)) / 2, pairs(m)};
    };
    args = {.k = 0, .a = p2, .a_row = 1, .a_col = kScoreStride, .b = o2, .b_row = width, .c = dvp, .c_row = width, .add = true};
    product(keys, args, down, ahead);
    args.a = ds2, args.b = q2, args.c = dkp;
    product(keys, args, down, ahead);
    args = {.k = 0,
            .a = (const uint32_t*)dsr,
            .a_row = kScoreStride / 2,
            .a_col = 1,
            .b = kp,
            .b_row = width,
            .c = several ? dqp + i * width : dqp,
            .c_row = width,
            .add = several};
    product(m, args, [&](int64_t row, int64_t rows) { return Bounds{d, 0, pairs(seen(row + rows - 1))}; }, ahead);
    if (!several) store_dq(i, m);
  }
  // Two rows of P and dS as pairs, and dS by rows: n0 and n1 columns count, zeros up to `wanted`, a multiple of 16 or the end.
  DY_BF16 void gradient_rows(int64_t row, int64_t n0, int64_t n1, int64_t wanted, int64_t query) {
    const int64_t counts[2] = {n0, n1};
    const float* const score[2] = {s + row * kScoreStride, s + (row + 1) * kScoreStride};
    const float* const grad[2] = {g + row * kScoreStride, g + (row + 1) * kScoreStride};
    const V scale(float(shape.scale));
    V top[2], shift[2];
    for (int r = 0; r < 2; ++r) {
      top[r] = V(counts[r] > 0 ? lse[query + r] : 0.0f);
      shift[r] = V(counts[r] > 0 ? delta[query + r] : 0.0f);
    }
    uint32_t *p = p2 + row / 2 * kScoreStride, *x = ds2 + row / 2 * kScoreStride;
    for (int64_t j = 0; j < wanted; j += 16) {
      __m512i pe[2], de[2];
      for (int r = 0; r < 2; ++r) {
        V e(0), t(0);
        if (j < counts[r]) {
          e = exp(V::load(score[r] + j) * scale - top[r]);
          t = e * (V::load(grad[r] + j) - shift[r]);
          if (counts[r] - j < 16) {
            const auto mask = Mask<float>::first_n(size_t(counts[r] - j));
            e = select(mask, e, V(0)), t = select(mask, t, V(0));
          }
        }
        store_bf16(t.v.raw, dsr + (row + r) * kScoreStride + j);
        pe[r] = widen(e.v.raw), de[r] = widen(t.v.raw);
      }
      _mm512_storeu_si512(p + j, _mm512_or_si512(pe[0], _mm512_slli_epi32(pe[1], 16)));
      _mm512_storeu_si512(x + j, _mm512_or_si512(de[0], _mm512_slli_epi32(de[1], 16)));
    }
  }
};

size_t dot_workspace(const AttentionShape& s, bool backward, int threads) {
  return size_t(backward ? backward_floats(s) : forward_floats(s)) * 4 * size_t(threads) + 128;
}
void dot_forward(const AttentionForward& f) {
  const AttentionShape& s = f.shape;
  const int64_t heads = s.batch * s.heads, groups = (s.tq + kGroupRows - 1) / kGroupRows;
  parallel_each(heads * groups, [&](int64_t i) {
    const int64_t bh = i % heads, group = groups - 1 - i / heads;
    Forward(f, bh / s.heads, bh % s.heads, group);
  });
}
void dot_backward(const AttentionBackward& f) {
  const AttentionShape& s = f.shape;
  parallel_each(s.batch * s.heads, [&](int64_t i) { Backward(f, i / s.heads, i % s.heads); });
}

}  // namespace

extern const AttentionDotKernel attention_dot_kernel = {
    .workspace = dot_workspace, .forward = dot_forward, .backward = dot_backward};
#else
extern const AttentionDotKernel attention_dot_kernel = {};  // bf16_path() is never `dot` here
#endif

}  // namespace dyadic::DY_ISA
