// Fourier transforms over lanes: as many lines as a vector has doubles are transformed together, each number being a vector of
// real parts and one of imaginary parts. A line alone is cut into as many interleaved ones, Note [One line].
//
// The transform of n = p m numbers is p transforms of every p-th number, one after the other into pieces of the output, then
// butterflies across the pieces: by recursion, so that small ones stay in the nearest cache. The inverse is the same with real
// and imaginary parts exchanged on both sides.
#include <cstring>

#include "loops/lanes.h"
#include "ops/fft/plan.h"

namespace dyadic::DY_ISA {
namespace {

using V = Vec<double>;
constexpr int64_t L = int64_t(V::size());

struct Cx {
  V re, im;
};
DY_INLINE Cx load(const double* p) { return {V::load(p), V::load(p + L)}; }
DY_INLINE void store(double* p, Cx x) { x.re.store(p), x.im.store(p + L); }
DY_INLINE Cx operator+(Cx a, Cx b) { return {a.re + b.re, a.im + b.im}; }
DY_INLINE Cx operator-(Cx a, Cx b) { return {a.re - b.re, a.im - b.im}; }
DY_INLINE Cx times(Cx a, V re, V im) { return {fma(a.re, re, -(a.im * im)), fma(a.re, im, a.im * re)}; }
DY_INLINE Cx times(Cx a, const double* turn) { return times(a, V(turn[0]), V(turn[1])); }
DY_INLINE Cx scaled(Cx a, double s) { return {a.re * V(s), a.im * V(s)}; }
DY_INLINE Cx turned(Cx a) { return {a.im, -a.re}; }  // by -i

// The sums sum_q x_q exp(-2 pi i q r / P) in place.
template <int P> DY_INLINE void butterfly(Cx (&x)[P]) {
  if constexpr (P == 2) {
    const Cx a = x[0];
    x[0] = a + x[1], x[1] = a - x[1];
  } else if constexpr (P == 3) {
    constexpr double kSine = 0.86602540378443864676;
    const Cx s = x[1] + x[2], d = turned(scaled(x[1] - x[2], kSine)), a = x[0] - scaled(s, 0.5);
    x[0] = x[0] + s, x[1] = a + d, x[2] = a - d;
  } else if constexpr (P == 4) {
    const Cx a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = turned(x[1] - x[3]);
    x[0] = a + c, x[1] = b + d, x[2] = a - c, x[3] = b - d;
  } else {
    static_assert(P == 5);
    constexpr double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410, s1 = 0.95105651629515357212,
                     s2 = 0.58778525229247312917;
    const Cx a = x[1] + x[4], b = x[2] + x[3], c = x[1] - x[4], d = x[2] - x[3];
    const Cx e = x[0] + scaled(a, c1) + scaled(b, c2), f = x[0] + scaled(a, c2) + scaled(b, c1);
    const Cx g = turned(scaled(c, s1) + scaled(d, s2)), h = turned(scaled(c, s2) - scaled(d, s1));
    x[0] = x[0] + a + b, x[1] = e + g, x[2] = f + h, x[3] = f - h, x[4] = e - g;
  }
}

// out[k + q m] for k < m of P pieces of m numbers; `turns` of P m numbers are every `step`-th of the table.
template <int P> void combine(double* out, int64_t m, const double* turns, int64_t step) {
  for (int64_t k = 0; k < m; k++) {
    Cx x[P];
    for (int q = 0; q < P; q++) {
      x[q] = load(out + 2 * L * (k + q * m));
      if (q > 0 && k > 0) x[q] = times(x[q], turns + 2 * q * k * step);
    }
    butterfly<P>(x);
    for (int q = 0; q < P; q++) store(out + 2 * L * (k + q * m), x[q]);
  }
}
template <int P> DY_INLINE void leaf(const double* in, int64_t in_step, double* out) {
  Cx x[P];
  for (int q = 0; q < P; q++) x[q] = load(in + 2 * L * q * in_step);
  butterfly<P>(x);
  for (int q = 0; q < P; q++) store(out + 2 * L * q, x[q]);
}

struct Table {
  const double* turns;
  int64_t n;
  const int* radix;
};
void transform(const Table& t, int stage, const double* in, int64_t in_step, double* out, int64_t n) {
  const int p = t.radix[stage];
  const int64_t m = n / p;
  if (m == 1) {
    return p == 4   ? leaf<4>(in, in_step, out)
           : p == 2 ? leaf<2>(in, in_step, out)
           : p == 3 ? leaf<3>(in, in_step, out)
                    : leaf<5>(in, in_step, out);
  }
  for (int q = 0; q < p; q++) transform(t, stage + 1, in + 2 * L * q * in_step, in_step * p, out + 2 * L * q * m, m);
  const int64_t step = t.n / n;
  p == 4   ? combine<4>(out, m, t.turns, step)
  : p == 2 ? combine<2>(out, m, t.turns, step)
  : p == 3 ? combine<3>(out, m, t.turns, step)
           : combine<5>(out, m, t.turns, step);
}

// Lanes of n numbers, from `in` to `out`; `room` for a chirp: twice its padded length.
void run_lanes(const FftPlan& p, const double* in, double* out, double* room) {
  if (p.n == 1) return store(out, load(in));
  if (!p.padded) return transform({p.turns.data(), p.n, p.radices.data()}, 0, in, 1, out, p.n);
  const FftPlan& f = *p.padded;
  double *a = room, *b = room + 2 * L * f.n;
  for (int64_t k = 0; k < f.n; k++)
    store(a + 2 * L * k, k < p.n ? times(load(in + 2 * L * k), p.chirp.data() + 2 * k) : Cx{V(0), V(0)});
  run_lanes(f, a, b, nullptr);
  for (int64_t k = 0; k < f.n; k++) {  // exchanged: backwards
    const Cx x = times(load(b + 2 * L * k), p.filter.data() + 2 * k);
    store(b + 2 * L * k, {x.im, x.re});
  }
  run_lanes(f, b, a, nullptr);
  for (int64_t k = 0; k < p.n; k++) {
    const Cx x = load(a + 2 * L * k);
    store(out + 2 * L * k, times({x.im, x.re}, p.chirp.data() + 2 * k));
  }
}

// Note [One line]: the numbers l, l + L, l + 2 L ... of a line are lane l. Their transforms Y_l of n / L numbers are turned by
// exp(-2 pi i l k / n), and the L values of each k transformed: now neighbouring k are the lanes.
// A line is n pairs of numbers.
void run_line(const FftPlan& p, const double* in, double* out, double* room) {
  if (p.padded) {
    const FftPlan& f = *p.padded;
    double *a = room, *b = room + 2 * f.n, *more = b + 2 * f.n;
    auto multiply = [](const double* x, const double* y, double* to) {
      const double re = x[0] * y[0] - x[1] * y[1], im = x[0] * y[1] + x[1] * y[0];
      to[0] = re, to[1] = im;
    };
    for (int64_t k = 0; k < p.n; k++) multiply(in + 2 * k, p.chirp.data() + 2 * k, a + 2 * k);
    for (int64_t k = 2 * p.n; k < 2 * f.n; k++) a[k] = 0;
    run_line(f, a, b, more);
    for (int64_t k = 0; k < f.n; k++) {
      double x[2];
      multiply(b + 2 * k, p.filter.data() + 2 * k, x);
      b[2 * k] = x[1], b[2 * k + 1] = x[0];
    }
    run_line(f, b, a, more);
    for (int64_t k = 0; k < p.n; k++) {
      const double x[2] = {a[2 * k + 1], a[2 * k]};
      multiply(x, p.chirp.data() + 2 * k, out + 2 * k);
    }
    return;
  }
  double *a = room, *b = room + 2 * p.n;
  const int64_t m = p.part->n;
  for (int64_t j = 0; j < m; j++)
    for (int64_t l = 0; l < L; l++) a[2 * L * j + l] = in[2 * (j * L + l)], a[2 * L * j + L + l] = in[2 * (j * L + l) + 1];
  run_lanes(*p.part, a, b, nullptr);
  alignas(64) double block[2 * L * L], sums[2 * L * L];
  for (int64_t k = 0; k < m; k += L) {
    const int64_t count = min_of(L, m - k);
    for (int64_t r = 0; r < L; r++)
      for (int64_t l = 0; l < L; l++) {
        const bool real = r < count;
        const double re = real ? b[2 * L * (k + r) + l] : 0, im = real ? b[2 * L * (k + r) + L + l] : 0;
        const double* turn = p.turns.data() + 2 * (real ? l * (k + r) : 0);
        block[2 * L * l + r] = re * turn[0] - im * turn[1], block[2 * L * l + L + r] = re * turn[1] + im * turn[0];
      }
    run_lanes(*p.lanes, block, sums, nullptr);
    for (int64_t q = 0; q < L; q++)
      for (int64_t r = 0; r < count; r++) {
        out[2 * (k + r + m * q)] = sums[2 * L * q + r];
        out[2 * (k + r + m * q) + 1] = sums[2 * L * q + L + r];
      }
  }
}

// How the numbers of a group of lines lie in the buffers: part `c` of number k of line l at k * number + c * part + l.
struct Layout {
  int64_t number, part;
};

// Elements are kParts numbers of type R.
template <class R, int64_t kParts> void gather(const FftLines& f, int64_t lines, const int64_t* start, Layout y, double* to) {
  const int64_t step = f.in_stride * kParts, count = f.real_out ? f.n / 2 + 1 : f.n;
  const R* from[L];
  for (int64_t l = 0; l < lines; l++) from[l] = static_cast<const R*>(f.in) + start[l] * kParts;
  if (f.half_turns && f.real_in) {  // numbers 2 j and 2 j + 1 are the parts of one
    for (int64_t k = 0; k < f.n / 2; k++)
      for (int64_t l = 0; l < lines; l++)
        for (int64_t c = 0; c < 2; c++) to[k * y.number + c * y.part + l] = double(from[l][(2 * k + c) * step]);
    return;
  }
  const int64_t re = f.inverse ? y.part : 0, im = y.part - re;
  for (int64_t k = 0; k < count; k++)
    for (int64_t l = 0; l < lines; l++) {
      to[k * y.number + re + l] = double(from[l][k * step]);
      to[k * y.number + im + l] = kParts == 2 ? double(from[l][k * step + kParts - 1]) : 0;
    }
}
template <class R, int64_t kParts>
void scatter(const FftLines& f, int64_t lines, const int64_t* start, Layout y, const double* from) {
  const int64_t step = f.out_stride * kParts, count = f.real_in ? f.n / 2 + 1 : f.n;
  R* to[L];
  for (int64_t l = 0; l < lines; l++) to[l] = static_cast<R*>(f.out) + start[l] * kParts;
  if (f.half_turns && f.real_out) {
    for (int64_t k = 0; k < f.n / 2; k++)
      for (int64_t l = 0; l < lines; l++)
        for (int64_t c = 0; c < 2; c++) to[l][(2 * k + c) * step] = R(from[k * y.number + (1 - c) * y.part + l] * f.scale);
    return;
  }
  const int64_t re = f.inverse ? y.part : 0, im = y.part - re;
  for (int64_t k = 0; k < count; k++)
    for (int64_t l = 0; l < lines; l++) {
      to[l][k * step] = R(from[k * y.number + re + l] * f.scale);
      if (kParts == 2) to[l][k * step + kParts - 1] = R(from[k * y.number + im + l] * f.scale);
    }
}

// The half of a Hermitian spectrum becomes the whole; what would be imaginary in real places is dropped. Parts are exchanged:
// only inverse transforms have real results.
void complete(int64_t n, int64_t lanes, Layout y, double* x) {
  auto at = [&](int64_t k, int64_t c, int64_t l) -> double& { return x[k * y.number + (1 - c) * y.part + l]; };
  for (int64_t l = 0; l < lanes; l++) {
    at(0, 1, l) = 0;
    if (n % 2 == 0) at(n / 2, 1, l) = 0;
    for (int64_t k = n / 2 + 1; k < n; k++) at(k, 0, l) = at(n - k, 0, l), at(k, 1, l) = -at(n - k, 1, l);
  }
}
// X_k = E_k + w^k O_k from Z = E + i O of n / 2 numbers, w = exp(-2 pi i / n), for k <= n / 2; in place, of n / 2 + 1 numbers.
void split_halves(int64_t n, const double* turns, int64_t lanes, Layout y, double* x) {
  const int64_t h = n / 2;
  for (int64_t k = 0; k <= h / 2; k++) {
    const int64_t other = h - k;
    for (int64_t l = 0; l < lanes; l++) {
      double *a = x + k * y.number + l, *b = x + (other == h ? 0 : other) * y.number + l, *to = x + other * y.number + l;
      const double ar = a[0], ai = a[y.part], br = b[0], bi = b[y.part];
      const double er = (ar + br) / 2, ei = (ai - bi) / 2, pr = (ai + bi) / 2, pi = (br - ar) / 2;  // E and O
      const double wr = turns[2 * k], wi = turns[2 * k + 1];
      const double tr = pr * wr - pi * wi, ti = pr * wi + pi * wr;
      a[0] = er + tr, a[y.part] = ei + ti;
      to[0] = er - tr, to[y.part] = ti - ei;  // the conjugate of E_k - w^k O_k
    }
  }
}
// Z = 2 E + 2 i O from X; parts exchanged before and after.
void join_halves(int64_t n, const double* turns, int64_t lanes, Layout y, double* x) {
  const int64_t h = n / 2;
  for (int64_t k = 0; k <= h / 2; k++) {
    for (int64_t l = 0; l < lanes; l++) {
      double *a = x + k * y.number + l, *b = x + (h - k) * y.number + l;
      const bool ends = k == 0;  // what would be imaginary there is dropped
      const double ar = a[y.part], ai = ends ? 0 : a[0], br = b[y.part], bi = ends ? 0 : b[0];
      const double er = ar + br, ei = ai - bi, dr = ar - br, di = ai + bi, wr = turns[2 * k], wi = -turns[2 * k + 1];
      const double pr = dr * wr - di * wi, pi = dr * wi + di * wr;  // 2 O
      a[y.part] = er - pi, a[0] = ei + pr;
      if (k > 0 && h - k != k) b[y.part] = er + pi, b[0] = pr - ei;
    }
  }
}

int64_t numbers(int64_t n) { return n + 1; }
int64_t workspace(int64_t n, int64_t padded, bool alone) {
  const int64_t doubles = alone ? 4 * numbers(n) + (padded ? 8 * padded : 4 * n) : 2 * L * (2 * numbers(n) + 2 * padded);
  return int64_t(sizeof(double)) * doubles + 64;
}

void run(const FftLines& f, bool alone, int64_t count, const int64_t* in_start, const int64_t* out_start, void* room) {
  double* a = reinterpret_cast<double*>((reinterpret_cast<uintptr_t>(room) + 63) / 64 * 64);
  const int64_t lanes = alone ? 1 : L;
  const Layout y{2 * lanes, lanes};
  double *b = a + 2 * lanes * numbers(f.n), *more = b + 2 * lanes * numbers(f.n);
  const Format *in = f.in_format, *out = f.out_format;
  const bool in_double = in->compute() == Compute::f64 || in->compute() == Compute::c128;
  const bool out_double = out->compute() == Compute::f64 || out->compute() == Compute::c128;
  auto some = [&](int64_t at, int64_t lines) {
    const int64_t* from = in_start + at;
    if (f.real_in)
      in_double ? gather<double, 1>(f, lines, from, y, a) : gather<float, 1>(f, lines, from, y, a);
    else
      in_double ? gather<double, 2>(f, lines, from, y, a) : gather<float, 2>(f, lines, from, y, a);
    if (f.real_out) f.half_turns ? join_halves(f.n, f.half_turns, lines, y, a) : complete(f.n, lines, y, a);
    alone ? run_line(*f.plan, a, b, more) : run_lanes(*f.plan, a, b, more);
    if (f.real_in && f.half_turns) split_halves(f.n, f.half_turns, lines, y, b);
    const int64_t* to = out_start + at;
    if (f.real_out)
      out_double ? scatter<double, 1>(f, lines, to, y, b) : scatter<float, 1>(f, lines, to, y, b);
    else
      out_double ? scatter<double, 2>(f, lines, to, y, b) : scatter<float, 2>(f, lines, to, y, b);
  };
  // What the lanes without a line hold must be numbers, of any value.
  if (count % lanes) std::memset(a, 0, size_t(2 * lanes * numbers(f.n)) * sizeof(double));
  for (int64_t i = 0; i < count; i += lanes) some(i, min_of(lanes, count - i));
}

}  // namespace

extern const FftKernel fft_kernel = {L, workspace, run};

}  // namespace dyadic::DY_ISA
