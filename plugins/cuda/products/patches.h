// The sides and results of convolutions as products (tiles.h): patches of images, weights by taps, rows of images.
#pragma once
#include "plugins/cuda/copies/space.h"
#include "plugins/cuda/products/sides.h"

namespace dyadic::gpu {

// Along one axis place j and tap t meet at element j * step + first + t * slope of the side that is read, which has `size`;
// place j is element out_first + j * out_step of the side that is written; t is number tap + t * tap_step of the kernel.
struct Axis {
  int count = 1, taps = 1, size = 1;
  Divisor by_count{}, by_taps{};  // set by Grid3::finish
  int step = 1, first = 0, slope = 1;
  int out_first = 0, out_step = 1, out_size = 1, tap = 0, tap_step = 1;
};
struct Spot {  // what a place or a tap adds to the element's number before its coordinates do, and to those
  int64_t base;
  int at[3];
};
__device__ __noinline__ inline int64_t divide_wide(int64_t x, int64_t by) { return x / by; }
__device__ inline int64_t divide(int64_t x, const Divisor& d, int64_t& rest) {
  const int64_t q = (x | d.by) >> 31 ? divide_wide(x, d.by) : int64_t(d.quotient(uint32_t(x)));
  rest = x - q * d.by;
  return q;
}

struct Grid3 {
  Axis axis[3];
  Divisor by_places, by_kernel;
  int64_t places() const { return int64_t(axis[0].count) * axis[1].count * axis[2].count; }
  int64_t taps() const { return int64_t(axis[0].taps) * axis[1].taps * axis[2].taps; }
  void finish() {
    for (Axis& a : axis) a.by_count = Divisor(a.count), a.by_taps = Divisor(a.taps);
    by_places = Divisor(places()), by_kernel = Divisor(taps());
  }
  // Coordinates of place or tap i, which is below places() or taps().
  __device__ void place(int64_t i, int (&at)[3]) const {
    int64_t rest;
    i = divide(i, axis[2].by_count, rest), at[2] = int(rest);
    i = divide(i, axis[1].by_count, rest), at[1] = int(rest), at[0] = int(i);
  }
  __device__ void tap(int64_t i, int (&at)[3]) const {
    int64_t rest;
    i = divide(i, axis[2].by_taps, rest), at[2] = int(rest);
    i = divide(i, axis[1].by_taps, rest), at[1] = int(rest), at[0] = int(i);
  }
};

template <class T_> struct Read {  // elements of any scalar format
  using T = T_;
  const void* at;
  Code code;
  __device__ T operator[](int64_t i) const { return load_usual<T>(code, at, i); }
  __device__ void move(int64_t elements) { at = static_cast<const char*>(at) + elements * stored_bytes(code); }
};
struct Read16 {
  using T = uint16_t;
  const uint16_t* at;
  __device__ T operator[](int64_t i) const { return at[i]; }
  __device__ void move(int64_t elements) { at += elements; }
};

// Lines are places (of one image after the other) and k channels and taps; or, turned, the other way round.
template <class R, bool kTurned> struct Patches {
  using T = typename R::T;
  using Line = Spot;
  R from;
  bool along_k;
  Grid3 grid;
  int64_t channel, image, group;  // elements from one to the next
  __device__ Patches entry(const ProductShape&, int64_t g) const {
    Patches r = *this;
    r.from.move(g * group);
    return r;
  }
  __device__ Spot place(int64_t i) const {
    Spot s;
    int64_t rest;
    s.base = divide(i, grid.by_places, rest) * image;
    grid.place(rest, s.at);
    DY_UNROLL for (int d = 0; d < 3; ++d) s.at[d] = s.at[d] * grid.axis[d].step + grid.axis[d].first;
    return s;
  }
  __device__ Spot tap(int64_t k) const {
    Spot s;
    int64_t rest;
    s.base = divide(k, grid.by_kernel, rest) * channel;
    grid.tap(rest, s.at);
    DY_UNROLL for (int d = 0; d < 3; ++d) s.at[d] *= grid.axis[d].slope;
    return s;
  }
  __device__ Spot line(int64_t i) const { return kTurned ? tap(i) : place(i); }
  __device__ Spot step(int64_t k) const { return kTurned ? place(k) : tap(k); }
  __device__ T get(const Spot& a, const Spot& b) const {
    int at[3];
    bool inside = true;
    DY_UNROLL for (int d = 0; d < 3; ++d) {
      at[d] = a.at[d] + b.at[d];
      inside &= unsigned(at[d]) < unsigned(grid.axis[d].size);
    }
    return inside ? from[a.base + b.base + (int64_t(at[0]) * grid.axis[1].size + at[1]) * grid.axis[2].size + at[2]] : T(0);
  }
};

// The weight where k is a filter and a tap of the residue's: lines are channels.
template <class R> struct Taps {
  using T = typename R::T;
  using Line = int64_t;
  R from;
  bool along_k;
  Grid3 grid;
  int kernel[3];
  int64_t channel, filter, group;
  __device__ Taps entry(const ProductShape&, int64_t g) const {
    Taps r = *this;
    r.from.move(g * group);
    return r;
  }
  __device__ int64_t line(int64_t i) const { return i * channel; }
  __device__ int64_t step(int64_t k) const {
    int at[3];
    int64_t rest, number = 0;
    const int64_t from_filter = divide(k, grid.by_kernel, rest) * filter;
    grid.tap(rest, at);
    DY_UNROLL for (int d = 0; d < 3; ++d) number = number * kernel[d] + grid.axis[d].tap + at[d] * grid.axis[d].tap_step;
    return from_filter + number;
  }
  __device__ T get(int64_t line, int64_t step) const { return from[line + step]; }
};

// Rows of images whose k runs over the places of one after the other; or a matrix, which is one image.
template <class R> struct Images {
  using T = typename R::T;
  using Line = int64_t;
  R from;
  bool along_k;
  Divisor places;
  int64_t row, image, group;
  __device__ Images entry(const ProductShape&, int64_t g) const {
    Images r = *this;
    r.from.move(g * group);
    return r;
  }
  __device__ int64_t line(int64_t i) const { return i * row; }
  __device__ int64_t step(int64_t k) const {
    int64_t rest;
    const int64_t number = divide(k, places, rest);
    return number * image + rest;
  }
  __device__ T get(int64_t line, int64_t step) const { return from[line + step]; }
};

// Any of these for tensor cores.
template <class Side> struct Gathered16 {
  static constexpr int kRun = 8;
  Side side;
  bool along_k;
  __device__ Gathered16 entry(const ProductShape& s, int64_t e) const { return {side.entry(s, e), along_k}; }
  __device__ void run(int64_t i, int64_t k, int64_t lines, int64_t depth, uint32_t (&x)[4]) const {
    const int64_t left = along_k ? (i < lines ? depth - k : 0) : (k < depth ? lines - i : 0);
    uint64_t both[2] = {};
    if (left > 0) {
      const auto line = side.line(i);
      const auto step = side.step(k);
      DY_UNROLL for (int half = 0; half < 2; ++half) {
#pragma unroll 1
        for (int e = 4 * half; e < 4 * half + 4; ++e) {
          const uint64_t one = e >= left ? 0 : along_k ? side.get(line, side.step(k + e)) : side.get(side.line(i + e), step);
          both[half] = both[half] >> 16 | one << 48;
        }
      }
    }
    DY_UNROLL for (int e = 0; e < 4; ++e) x[e] = uint32_t(both[e / 2] >> 32 * (e % 2));
  }
};

// The result of a product with rows of channels and columns of places.
template <class T> struct Places {
  void* at;
  Code code;
  Grid3 grid;
  int64_t channel, image, channels;  // channels: of a group
  const void* bias;
  Code bias_code;
  int64_t first;  // channel of the group
  __device__ Places entry(const ProductShape&, int64_t g) const {
    Places r = *this;
    r.first = g * channels;
    return r;
  }
  __device__ void put(int64_t i, int64_t j, T x) const {
    int to[3];
    int64_t rest;
    const int64_t from = divide(j, grid.by_places, rest) * image + (first + i) * channel;
    grid.place(rest, to);
    DY_UNROLL for (int d = 0; d < 3; ++d) to[d] = to[d] * grid.axis[d].out_step + grid.axis[d].out_first;
    if (bias) x = plus(x, load_usual<T>(bias_code, bias, first + i));
    store_usual<T>(code, at, from + (int64_t(to[0]) * grid.axis[1].out_size + to[1]) * grid.axis[2].out_size + to[2], x);
  }
  __device__ void put(int64_t i, int64_t j, T x, T y) const { put(i, j, x), put(i, j + 1, y); }
};

}  // namespace dyadic::gpu
