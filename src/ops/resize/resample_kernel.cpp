// Columns of the axis are worked on together, up to kColumns of them; where there is one, along the axis.
#include "ops/resize/resample_kernel.h"

#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kColumns = 512;
constexpr int64_t kGrain = 16384;  // elements

int64_t columns(const ResampleShape& s) { return min_of(s.inner, kColumns); }
int64_t slot(const ResampleShape& s) { return ((s.in + s.out) * columns(s) * 8 + 63) / 64 * 64; }
int64_t workspace(const ResampleShape& s) { return num_threads() * slot(s); }

template <class T> void read(Source x, int64_t at, T* to, int64_t n) {
  if (!stores<T>(x.format)) return x.format->def->decode(element(x, at), to, n);
  const T* from = static_cast<const T*>(x.data) + at;
  for (int64_t i = 0; i < n; i++) to[i] = from[i];
}

// f(x, y, columns) for every part of the input: x [from, columns] is read, y [to, columns] written. Whole slices are read and
// written in place where they are stored as T.
template <class T, class F>
void for_parts(const ResampleShape& s, int64_t from, int64_t to, Source x, Target y, void* memory, F&& f) {
  const int64_t wide = columns(s), parts = s.inner ? (s.inner + wide - 1) / wide : 0;
  const int64_t grain = max_of(1, kGrain / max_of((from + to) * wide, 1));
  parallel_for(s.outer * parts, grain, [&](int64_t begin, int64_t end) {
    T* in = reinterpret_cast<T*>(static_cast<char*>(memory) + thread_index() * slot(s));
    T* out = in + from * wide;
    for (int64_t item = begin; item < end; item++) {
      const int64_t outer = item / parts, column = item % parts * wide, n = min_of(wide, s.inner - column);
      if (n == s.inner) {
        T* target = open_tile(y, outer * to * n, out);
        f(read_tile(x, outer * from * n, from * n, in), target, n);
        close_tile(y, outer * to * n, to * n, target);
        continue;
      }
      for (int64_t i = 0; i < from; i++) read(x, (outer * from + i) * s.inner + column, in + i * n, n);
      f(in, out, n);
      for (int64_t i = 0; i < to; i++) {
        const int64_t at = (outer * to + i) * s.inner + column;
        T* target = open_tile(y, at, out + i * n);
        for (int64_t j = 0; target != out + i * n && j < n; j++) target[j] = out[i * n + j];
        close_tile(y, at, n, out + i * n);
      }
    }
  });
}

// y (+)= w x over n columns.
template <class T> DY_INLINE void set_scaled(T* y, const T* x, T w, int64_t n) {
  for (int64_t j = 0; j < n; j++) y[j] = w * x[j];
}
template <class T> DY_INLINE void add_scaled(T* y, const T* x, T w, int64_t n) {
  for (int64_t j = 0; j < n; j++) y[j] += w * x[j];
}

// One column: results of one and of two elements, which is most of them, without an inner loop.
template <class T> void forward_column(const ResampleShape& s, const T* in, T* out) {
  const int64_t *begin = s.begin, *count = s.count;
  const double* w = s.weight;
  if (s.width == 1) {
    for (int64_t o = 0; o < s.out; o++) out[o] = static_cast<T>(w[o]) * in[begin[o]];
  } else if (s.width == 2) {
    for (int64_t o = 0; o < s.out; o++) {
      const int64_t next = begin[o] + count[o] - 1;  // the only one, with weight 0, at the end
      out[o] = static_cast<T>(w[2 * o]) * in[begin[o]] + static_cast<T>(w[2 * o + 1]) * in[next];
    }
  } else {
    for (int64_t o = 0; o < s.out; o++) {
      T sum = 0;
      for (int64_t k = 0; k < count[o]; k++) sum += static_cast<T>(w[o * s.width + k]) * in[begin[o] + k];
      out[o] = sum;
    }
  }
}
template <class T> void forward_as(const ResampleShape& s, Source x, Target y, void* memory) {
  for_parts<T>(s, s.in, s.out, x, y, memory, [&](const T* in, T* out, int64_t n) {
    if (n == 1) return forward_column(s, in, out);
    for (int64_t o = 0; o < s.out; o++) {
      const double* w = s.weight + o * s.width;
      const T* from = in + s.begin[o] * n;
      set_scaled(out + o * n, from, static_cast<T>(w[0]), s.count[o] > 0 ? n : 0);
      for (int64_t j = 0; s.count[o] == 0 && j < n; j++) out[o * n + j] = 0;
      for (int64_t k = 1; k < s.count[o]; k++) add_scaled(out + o * n, from + k * n, static_cast<T>(w[k]), n);
    }
  });
}
template <class T> void backward_as(const ResampleShape& s, Source dy, Target dx, void* memory) {
  for_parts<T>(s, s.out, s.in, dy, dx, memory, [&](const T* in, T* out, int64_t n) {
    for (int64_t i = 0; i < s.in * n; i++) out[i] = 0;
    for (int64_t o = 0; o < s.out; o++) {
      const double* w = s.weight + o * s.width;
      T* to = out + s.begin[o] * n;
      if (n == 1) {
        for (int64_t k = 0; k < s.count[o]; k++) to[k] += static_cast<T>(w[k]) * in[o];
      } else {
        for (int64_t k = 0; k < s.count[o]; k++) add_scaled(to + k * n, in + o * n, static_cast<T>(w[k]), n);
      }
    }
  });
}

// Nearest neighbours: elements are moved as they are stored.
bool only_moves(const ResampleShape& s) {
  bool yes = s.width == 1;
  for (int64_t o = 0; yes && o < s.out; o++) yes = s.count[o] == 1 && s.weight[o] == 1;
  return yes;
}
template <class E> void move(const ResampleShape& s, const void* from, void* to) {
  parallel_for(s.outer * s.out, max_of(1, kGrain / max_of(s.inner, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin / s.out, o = begin % s.out, at = begin; at < end; row++, o = 0) {
      const int64_t count = min_of(s.out - o, end - at);
      const E* in = static_cast<const E*>(from) + row * s.in * s.inner;
      E* out = static_cast<E*>(to) + at * s.inner;
      const int64_t* place = s.begin + o;
      if (s.inner == 1)
        for (int64_t k = 0; k < count; k++) out[k] = in[place[k]];
      else
        for (int64_t k = 0; k < count; k++)
          __builtin_memcpy(out + k * s.inner, in + place[k] * s.inner, size_t(s.inner) * sizeof(E));
      at += count;
    }
  });
}
void move(const ResampleShape& s, Source x, Target y) {
  switch (x.format->itemsize()) {
    case 8:
      return move<uint64_t>(s, x.data, y.data);
    case 4:
      return move<uint32_t>(s, x.data, y.data);
    case 2:
      return move<uint16_t>(s, x.data, y.data);
    default:
      return move<uint8_t>(s, x.data, y.data);
  }
}

bool is_double(Source x) { return x.format->def->compute == Compute::f64; }
void forward(const ResampleShape& s, Source x, Target y, void* memory) {
  if (x.format == y.format && x.format->def->bits % 8 == 0 && only_moves(s)) return move(s, x, y);
  is_double(x) ? forward_as<double>(s, x, y, memory) : forward_as<float>(s, x, y, memory);
}
void backward(const ResampleShape& s, Source dy, Target dx, void* memory) {
  is_double(dy) ? backward_as<double>(s, dy, dx, memory) : backward_as<float>(s, dy, dx, memory);
}

}  // namespace

extern const ResampleKernel resample_kernel = {workspace, forward, backward};

}  // namespace dyadic::DY_ISA
