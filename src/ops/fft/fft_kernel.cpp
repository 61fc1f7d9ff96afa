// Fourier transforms over lanes: as many lines as a vector has elements are transformed together, each number being a vector of
// real parts and one of imaginary parts. A line alone is cut into as many interleaved ones, Note [One line].
//
// The transform of n = p m numbers is p transforms of every p-th number, one after the other into pieces of the output, then
// butterflies across the pieces: by recursion, so that small ones stay in the nearest cache. The inverse is the same with real
// and imaginary parts exchanged on both sides.
#include <cstring>

#include "ops/fft/lines.h"

namespace dyadic::DY_ISA {
namespace {

template <class T> constexpr int64_t kWidth = int64_t(Vec<T>::size());

// A buffer of numbers as FftLayout has them.
template <class T> struct Buffer {
  T* data;
  int64_t number, part;
  Buffer turned() const { return {data + part, number, -part}; }  // real and imaginary parts exchanged
  DY_INLINE Cx<T> load(int64_t k) const { return Cx<T>::load(data + k * number, part); }
  DY_INLINE void store(int64_t k, Cx<T> x) const { x.store(data + k * number, part); }
  Buffer from(int64_t k) const { return {data + k * number, number, part}; }
};
template <class T> Buffer<T> vectors(T* data) { return {data, 2 * kWidth<T>, kWidth<T>}; }

// P pieces of m numbers become one of P m.
template <int P, class T> void combine(const Buffer<T>& b, int64_t m, const T* turns) {
  const int64_t step = m * b.number, part = b.part;
  T* at = b.data;
  for (int64_t k = 0; k < m; k++, at += b.number) {
    Cx<T> x[P];
    DY_UNROLL for (int q = 0; q < P; q++) x[q] = Cx<T>::load(at + q * step, part);
    if (k > 0) {
      DY_UNROLL for (int q = 1; q < P; q++) x[q] = times(x[q], turns + 2 * (q - 1));
      turns += 2 * (P - 1);
    }
    butterfly(x);
    DY_UNROLL for (int q = 0; q < P; q++) x[q].store(at + q * step, part);
  }
}
template <int P, class T> void leaf(const Buffer<T>& in, int64_t in_step, const Buffer<T>& out) {
  Cx<T> x[P];
  DY_UNROLL for (int q = 0; q < P; q++) x[q] = in.load(q * in_step);
  butterfly(x);
  DY_UNROLL for (int q = 0; q < P; q++) out.store(q, x[q]);
}
// f.template operator()<P>() for a radix.
template <class F> DY_INLINE void by_radix(int p, F&& f) {
  switch (p) {
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    case 4:
      return f.template operator()<4>();
    case 5:
      return f.template operator()<5>();
    case 7:
      return f.template operator()<7>();
    case 8:
      return f.template operator()<8>();
    case 11:
      return f.template operator()<11>();
    default:
      return f.template operator()<13>();
  }
}
template <class T>
void transform(const int* radix, const T* turns, const Buffer<T>& in, int64_t in_step, const Buffer<T>& out, int64_t n) {
  const int p = *radix;
  const int64_t m = n / p;
  if (m == 1) return by_radix(p, [&]<int P>() { leaf<P>(in, in_step, out); });
  const T* inner = turns + 2 * (p - 1) * (m - 1);
  for (int64_t q = 0; q < p; q++) transform(radix + 1, inner, in.from(q * in_step), in_step * p, out.from(q * m), m);
  by_radix(p, [&]<int P>() { combine<P>(out, m, turns); });
}
template <class T> void transform(const FftPlan<T>& p, const Buffer<T>& in, const Buffer<T>& out) {
  if (p.n == 1) return out.store(0, in.load(0));
  transform(p.radices.data(), p.turns.data(), in, 1, out, p.n);
}

// Lanes of n numbers, from `in` to `out`; `room` for a chirp: twice its padded length.
template <class T> void run_lanes(const FftPlan<T>& p, const Buffer<T>& in, const Buffer<T>& out, T* room) {
  if (!p.padded) return transform(p, in, out);
  const FftPlan<T>& f = *p.padded;
  const Buffer<T> a = vectors(room), b = vectors(room + 2 * kWidth<T> * f.n);
  for (int64_t k = 0; k < f.n; k++)
    a.store(k, k < p.n ? times(in.load(k), p.chirp.data() + 2 * k) : Cx<T>{Vec<T>(0), Vec<T>(0)});
  transform(f, a, b);
  for (int64_t k = 0; k < f.n; k++) b.store(k, times(b.load(k), p.filter.data() + 2 * k));
  transform(f, b.turned(), a.turned());
  for (int64_t k = 0; k < p.n; k++) out.store(k, times(a.load(k), p.chirp.data() + 2 * k));
}

// Note [One line]: the numbers l, l + L, l + 2 L ... of a line are lane l. Their transforms Y_l of n / L numbers are turned by
// exp(-2 pi i l k / n), and the L values of each k transformed: now neighbouring k are the lanes.
// In place: real parts, then imaginary ones at `part`; `b` is room for as many numbers.
template <class T> void run_line(const FftPlan<T>& p, T* a, int64_t part, T* b) {
  constexpr int64_t L = kWidth<T>;
  const int64_t m = p.part->n;
  const Buffer<T> y = vectors(b);
  transform(*p.part, Buffer<T>{a, L, part}, y);
  alignas(64) T rows[2][L * L], block[2 * L * L], sums[2 * L * L];
  for (int64_t k = 0; k < m; k += L) {
    const int64_t count = min_of(L, m - k);
    for (int64_t r = 0; r < count; r++) {
      const Cx<T> x = times(y.load(k + r), Cx<T>::load(p.line_turns.data() + 2 * L * (k + r), L));
      x.re.store(rows[0] + r * L), x.im.store(rows[1] + r * L);
    }
    if (count < L) std::memset(block, 0, sizeof(block));
    for (int64_t c = 0; c < 2; c++) transpose_block(rows[c], L, count, L, block + c * L, 2 * L);
    transform(*p.lanes, vectors(block), vectors(sums));
    for (int64_t q = 0; q < L; q++) {
      const Cx<T> x = vectors(sums).load(q);
      T* to = a + k + m * q;
      if (count == L)
        x.store(to, part);
      else
        x.re.store_n(to, size_t(count)), x.im.store_n(to + part, size_t(count));
    }
  }
}
// The same by way of a chirp; `room` for twice as many numbers as the padded length.
template <class T> void run_chirp(const FftPlan<T>& p, T* a, int64_t part, T* room) {
  const FftPlan<T>& f = *p.padded;
  T* b = room + 2 * f.n;
  auto multiply = [](const T* from, int64_t from_part, int64_t n, const T* by, T* to, int64_t to_part) {
    for (int64_t k = 0; k < n; k++) {
      const T re = from[k], im = from[k + from_part], x = by[2 * k], y = by[2 * k + 1];
      to[k] = re * x - im * y, to[k + to_part] = re * y + im * x;
    }
  };
  std::memset(room, 0, size_t(2 * f.n) * sizeof(T));
  multiply(a, part, p.n, p.chirp.data(), room, f.n);
  run_line(f, room, f.n, b);
  multiply(room, f.n, f.n, p.filter.data(), room, f.n);
  run_line(f, room + f.n, -f.n, b);
  multiply(room, f.n, p.n, p.chirp.data(), a, part);
}

constexpr int64_t numbers(int64_t n) { return (n + 16) / 16 * 16; }  // of a buffer: at least n + 1
template <class T> int64_t workspace(int64_t n, int64_t padded, bool alone) {
  const int64_t buffers = 4 * numbers(n) + 4 * padded;
  return int64_t(sizeof(T)) * buffers * (alone ? 1 : kWidth<T>)+64;
}

// Between gather and scatter: the numbers of a, the result in b (alone in a).
template <class A, class T> T* compute(const FftLines<T>& f, bool alone, T* a, FftLayout y, T* b, T* more) {
  const FftPlan<T>& p = *f.plan;
  if (f.real_out) f.halves ? join_halves<A>(f.n, p.halves.data(), y, a) : complete<A>(f.n, false, true, y, a);
  const bool backwards = f.inverse && !f.real_in;  // of real numbers the transform is the conjugate
  const int64_t ahead = backwards ? y.part : 0, part = backwards ? -y.part : y.part;
  T* result = alone ? a : b;
  if (alone)
    p.padded ? run_chirp(p, a + ahead, part, more) : run_line(p, a + ahead, part, b);
  else
    run_lanes(p, Buffer<T>{a + ahead, y.number, part}, Buffer<T>{b + ahead, y.number, part}, more);
  if (f.real_in && f.halves) split_halves<A>(f.n, p.halves.data(), y, result);
  if (f.real_in && f.whole) complete<A>(f.n, f.inverse, false, y, result);
  return result;
}
template <class T> void scale(T* x, int64_t n, T by) {  // and what fills up the last vector
  for (int64_t k = 0; k < n; k += kWidth<T>) (Vec<T>::load(x + k) * Vec<T>(by)).store(x + k);
}
template <class E, class T>
void run_as(const FftLines<T>& f, bool alone, int64_t count, const int64_t* in_start, const int64_t* out_start, T* a) {
  constexpr int64_t L = kWidth<T>;
  const int64_t lanes = alone ? 1 : L, room = 2 * lanes * numbers(f.n);
  const FftLayout y = alone ? FftLayout{1, numbers(f.n)} : FftLayout{2 * L, L};
  const FftSpots from = spots(f, f.real_in, f.in_stride), to = spots(f, f.real_out, f.out_stride);
  T *b = a + room, *more = b + room;
  // What the lanes without a line hold must be numbers, of any value.
  if (count % lanes) std::memset(a, 0, size_t(room) * sizeof(T));
  for (int64_t i = 0; i < count; i += lanes) {
    const FftGroup<const E> in{static_cast<const E*>(f.in), in_start + i, min_of(lanes, count - i), f.real_in ? 1 : 2};
    const FftGroup<E> out{static_cast<E*>(f.out), out_start + i, in.lines, f.real_out ? 1 : 2};
    if constexpr (sizeof(E) == sizeof(T)) {
      if (alone)
        gather_line(in.line(0), from, y.part, a);
      else
        gather(in, from, y, a);
    } else {
      gather(in, from, y, a);
    }
    T* result = alone ? compute<FftScalars<T>>(f, true, a, y, b, more) : compute<FftVectors<T>>(f, false, a, y, b, more);
    if (f.scale != T(1)) {
      scale(result, lanes * (alone ? 1 : 2) * to.count, f.scale);
      if (alone) scale(result + y.part, to.count, f.scale);
    }
    if constexpr (sizeof(E) == sizeof(T)) {
      if (alone)
        scatter_line(out.line(0), to, y.part, result);
      else
        scatter(out, to, y, result);
    } else {
      scatter(out, to, y, result);
    }
  }
}
template <class T>
void run(const FftLines<T>& f, bool alone, int64_t count, const int64_t* in_start, const int64_t* out_start, void* room) {
  T* a = reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(room) + 63) / 64 * 64);
  f.narrow ? run_as<float>(f, alone, count, in_start, out_start, a) : run_as<T>(f, alone, count, in_start, out_start, a);
}

template <class T> constexpr FftTable<T> table() { return {kWidth<T>, workspace<T>, run<T>}; }

}  // namespace

extern const FftKernel fft_kernel = {table<float>(), table<double>()};

}  // namespace dyadic::DY_ISA
