#include "ops/rnn/rnn_kernel.h"

#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kGrain = 2048;  // elements of hidden states

template <class F> void for_rows(int64_t rows, int64_t hidden, F f) {
  parallel_for(rows, max_of(1, kGrain / max_of(1, hidden)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; row++) f(row);
  });
}

template <class T> const T* at(const void* p, int64_t i) { return p ? static_cast<const T*>(p) + i : nullptr; }
template <class T> T* at(void* p, int64_t i) { return p ? static_cast<T*>(p) + i : nullptr; }
template <class T> DY_INLINE Vec<T> load_or_zero(auto access, const T* p, int64_t i) {
  return p ? access.load(p + i) : Vec<T>(0);
}

template <class T> void rnn_rows(const RnnForward& a) {
  for_rows(a.rows, a.hidden, [&](int64_t row) {
    T* y = at<T>(a.states, a.hidden * row);
    for_vectors<T>(a.hidden, [&](auto access, int64_t j) {
      const Vec<T> x = access.load(y + j);
      access.store(y + j, a.relu ? max(x, Vec<T>(0)) : tanh(x));
    });
  });
}

template <class T> void rnn_backward_rows(const RnnBackward& a) {
  using V = Vec<T>;
  for_rows(a.rows, a.hidden, [&](int64_t row) {
    const int64_t start = a.hidden * row;
    const T *states = at<T>(a.states, start), *g_out = at<T>(a.g_out, start), *d_hidden = at<T>(a.d_hidden, start);
    T* d_gates = at<T>(a.d_gates, start);
    for_vectors<T>(a.hidden, [&](auto access, int64_t j) {
      const V y = access.load(states + j), d = access.load(d_hidden + j) + access.load(g_out + j);
      access.store(d_gates + j, a.relu ? select(y > V(0), d, V(0)) : d * (V(1) - y * y));
    });
  });
}

template <class T> void add_to(int64_t n, const void* from, void* to) {
  const T* x = at<T>(from, 0);
  T* y = at<T>(to, 0);
  for_vectors<T>(n, [&](auto access, int64_t j) { access.store(y + j, access.load(y + j) + access.load(x + j)); });
}

template <class T> void lstm_rows(const LstmForward& a) {
  using V = Vec<T>;
  const int64_t n = a.hidden;
  for_rows(a.rows, n, [&](int64_t row) {
    T* gates = at<T>(a.gates, 4 * n * row);
    const T* before = at<T>(a.before, n * row);
    T *cell = at<T>(a.cell, n * row), *out = at<T>(a.out, n * row);
    for_vectors<T>(n, [&](auto access, int64_t j) {
      const V i = sigmoid(access.load(gates + j)), f = sigmoid(access.load(gates + n + j));
      const V g = tanh(access.load(gates + 2 * n + j)), o = sigmoid(access.load(gates + 3 * n + j));
      const V c = fma(f, access.load(before + j), i * g);
      access.store(gates + j, i);
      access.store(gates + n + j, f);
      access.store(gates + 2 * n + j, g);
      access.store(gates + 3 * n + j, o);
      access.store(cell + j, c);
      access.store(out + j, o * tanh(c));
    });
  });
}

template <class T> void lstm_backward_rows(const LstmBackward& a) {
  using V = Vec<T>;
  const int64_t n = a.hidden;
  for_rows(a.rows, n, [&](int64_t row) {
    const int64_t wide = 4 * n * row, narrow = n * row;
    const T *gates = at<T>(a.gates, wide), *g_gates = at<T>(a.g_gates, wide);
    const T *before = at<T>(a.before, narrow), *cell = at<T>(a.cell, narrow), *d_hidden = at<T>(a.d_hidden, narrow);
    const T *g_out = at<T>(a.g_out, narrow), *g_cell = at<T>(a.g_cell, narrow);
    T *d_cell = at<T>(a.d_cell, narrow), *d_gates = at<T>(a.d_gates, wide);
    for_vectors<T>(n, [&](auto access, int64_t j) {
      auto gate = [&](int64_t k) { return access.load(gates + k * n + j); };
      auto extra = [&](int64_t k) { return load_or_zero(access, g_gates, k * n + j); };
      const V i = gate(0), f = gate(1), g = gate(2), o = gate(3), t = tanh(access.load(cell + j)), one(1);
      const V dh = access.load(d_hidden + j) + load_or_zero(access, g_out, j);
      const V dc = access.load(d_cell + j) + load_or_zero(access, g_cell, j) + dh * o * (one - t * t);
      access.store(d_gates + j, fma(dc, g, extra(0)) * i * (one - i));
      access.store(d_gates + n + j, fma(dc, access.load(before + j), extra(1)) * f * (one - f));
      access.store(d_gates + 2 * n + j, fma(dc, i, extra(2)) * (one - g * g));
      access.store(d_gates + 3 * n + j, fma(dh, t, extra(3)) * o * (one - o));
      access.store(d_cell + j, dc * f);
    });
  });
}

template <class T> void gru_rows(const GruForward& a) {
  using V = Vec<T>;
  const int64_t n = a.hidden;
  for_rows(a.rows, n, [&](int64_t row) {
    const T *x = at<T>(a.gates, 3 * n * row), *h = at<T>(a.recurrent, 3 * n * row), *before = at<T>(a.before, n * row);
    T *kept = at<T>(a.kept, 4 * n * row), *out = at<T>(a.out, n * row);
    for_vectors<T>(n, [&](auto access, int64_t j) {
      const V r = sigmoid(access.load(x + j) + access.load(h + j));
      const V z = sigmoid(access.load(x + n + j) + access.load(h + n + j));
      const V recurrent = access.load(h + 2 * n + j);
      const V fresh = tanh(fma(r, recurrent, access.load(x + 2 * n + j)));
      access.store(kept + j, r);
      access.store(kept + n + j, z);
      access.store(kept + 2 * n + j, fresh);
      access.store(kept + 3 * n + j, recurrent);
      access.store(out + j, fma(z, access.load(before + j) - fresh, fresh));
    });
  });
}

template <class T> void gru_backward_rows(const GruBackward& a) {
  using V = Vec<T>;
  const int64_t n = a.hidden;
  for_rows(a.rows, n, [&](int64_t row) {
    const T *kept = at<T>(a.kept, 4 * n * row), *g_kept = at<T>(a.g_kept, 4 * n * row);
    const T *before = at<T>(a.before, n * row), *g_out = at<T>(a.g_out, n * row);
    T *d_hidden = at<T>(a.d_hidden, n * row), *d_gates = at<T>(a.d_gates, 3 * n * row);
    T* d_recurrent = at<T>(a.d_recurrent, 3 * n * row);
    for_vectors<T>(n, [&](auto access, int64_t j) {
      auto value = [&](int64_t k) { return access.load(kept + k * n + j); };
      auto extra = [&](int64_t k) { return load_or_zero(access, g_kept, k * n + j); };
      const V r = value(0), z = value(1), fresh = value(2), recurrent = value(3), one(1);
      const V dh = access.load(d_hidden + j) + load_or_zero(access, g_out, j);
      const V dn = fma(dh, one - z, extra(2)) * (one - fresh * fresh);
      const V dr = fma(dn, recurrent, extra(0)) * r * (one - r);
      const V dz = fma(dh, access.load(before + j) - fresh, extra(1)) * z * (one - z);
      access.store(d_gates + j, dr);
      access.store(d_gates + n + j, dz);
      access.store(d_gates + 2 * n + j, dn);
      access.store(d_recurrent + j, dr);
      access.store(d_recurrent + n + j, dz);
      access.store(d_recurrent + 2 * n + j, fma(dn, r, extra(3)));
      access.store(d_hidden + j, dh * z);
    });
  });
}

}  // namespace

extern const RnnKernel rnn_kernel = {
    .rnn = [](const RnnForward& a, bool f64) { f64 ? rnn_rows<double>(a) : rnn_rows<float>(a); },
    .rnn_backward = [](const RnnBackward& a, bool f64) { f64 ? rnn_backward_rows<double>(a) : rnn_backward_rows<float>(a); },
    .add = [](int64_t n, const void* from, void* to,
              bool f64) { f64 ? add_to<double>(n, from, to) : add_to<float>(n, from, to); },
    .lstm = [](const LstmForward& a, bool f64) { f64 ? lstm_rows<double>(a) : lstm_rows<float>(a); },
    .lstm_backward = [](const LstmBackward& a,
                        bool f64) { f64 ? lstm_backward_rows<double>(a) : lstm_backward_rows<float>(a); },
    .gru = [](const GruForward& a, bool f64) { f64 ? gru_rows<double>(a) : gru_rows<float>(a); },
    .gru_backward = [](const GruBackward& a, bool f64) { f64 ? gru_backward_rows<double>(a) : gru_backward_rows<float>(a); },
};

}  // namespace dyadic::DY_ISA
