// softmax along n entries that lie `inner` elements apart: neighbouring columns side by side in vectors, a block at a time.
// Only for files that are compiled per instruction set.
#pragma once
#include "loops/lanes.h"
#include "ops/nn/softmax_kernel.h"

namespace dyadic::DY_ISA {

inline constexpr int64_t kHeldBytes = 128 << 10;  // a block stays in the second-level cache
inline constexpr int64_t kInPlace = 16;   // this many entries are read where they lie: a vector's are next to each other
inline constexpr int64_t kWidest = 1024;  // columns

template <class T> struct ColumnBlock {
  int64_t n, width;
  // Where entries lie `step` elements apart, from `at` on; or in `held` as T, `width` apart.
  DY_INLINE const T* read(Source x, int64_t at, int64_t step, T* held, int64_t& apart) const {
    if (stores<T>(x.format) && n <= kInPlace) return apart = step, static_cast<const T*>(x.data) + at;
    for (int64_t r = 0; r < n; r++) {
      if (stores<T>(x.format))
        for_vectors<T>(width, [&](auto access, int64_t j) {
          access.store(held + r * width + j, access.load(static_cast<const T*>(x.data) + at + r * step + j));
        });
      else
        x.format->def->decode(element(x, at + r * step), held + r * width, width);
    }
    return apart = width, held;
  }
  DY_INLINE T* open(Target y, int64_t at, int64_t step, T* held, int64_t& apart) const {
    if (stores<T>(y.format) && n <= kInPlace) return apart = step, static_cast<T*>(y.data) + at;
    return apart = width, held;
  }
  DY_INLINE void close(Target y, int64_t at, int64_t step, const T* held) const {
    if (stores<T>(y.format) && n <= kInPlace) return;
    for (int64_t r = 0; r < n; r++) {
      if (stores<T>(y.format))
        for_vectors<T>(width, [&](auto access, int64_t j) {
          access.store(static_cast<T*>(y.data) + at + r * step + j, access.load(held + r * width + j));
        });
      else
        y.format->def->encode(held + r * width, element(y, at + r * step), width, Round{});
    }
  }
};

// The sum of n vectors: in blocks, so that the error grows with the square root of n at most.
template <class T, class F> DY_INLINE Vec<T> block_sum(int64_t n, F&& term) {
  constexpr int64_t kBlock = 32;
  Vec<T> total(0);
  for (int64_t b = 0; b < n; b += kBlock) {
    Vec<T> sum(0);
    for (int64_t r = b; r < min_of(n, b + kBlock); r++) sum += term(r);
    total += sum;
  }
  return total;
}

template <class T> void forward_columns(const T* x, int64_t x_step, T* y, int64_t y_step, int64_t n, int64_t width, bool log) {
  using V = Vec<T>;
  for_vectors<T>(width, [&](auto access, int64_t j) {
    V most(-HUGE_VALF);
    for (int64_t r = 0; r < n; r++) {
      const V v = access.load(x + r * x_step + j);
      most = select(v > most, v, most);
    }
    const V total = block_sum<T>(n, [&](int64_t r) {
      const V shifted = access.load(x + r * x_step + j) - most, e = exp(shifted);
      access.store(y + r * y_step + j, log ? shifted : e);
      return e;
    });
    const V shift = log ? dyadic::DY_ISA::log(total) : V(1) / total;
    for (int64_t r = 0; r < n; r++) {
      const V v = access.load(y + r * y_step + j);
      access.store(y + r * y_step + j, log ? v - shift : v * shift);
    }
  });
}

// softmax: dx = y (dy - sum(y dy)); logarithm: dx = dy - exp(y) sum(dy).
template <class T>
void backward_columns(const T* y, int64_t y_step, const T* dy, int64_t dy_step, T* dx, int64_t dx_step, int64_t n,
                      int64_t width, bool log) {
  using V = Vec<T>;
  for_vectors<T>(width, [&](auto access, int64_t j) {
    const V total = block_sum<T>(n, [&](int64_t r) {
      const V d = access.load(dy + r * dy_step + j);
      return log ? d : d * access.load(y + r * y_step + j);
    });
    for (int64_t r = 0; r < n; r++) {
      const V v = access.load(y + r * y_step + j), d = access.load(dy + r * dy_step + j);
      access.store(dx + r * dx_step + j, log ? d - exp(v) * total : v * (d - total));
    }
  });
}

// f(block, first element) for all blocks of columns; `tiles`: how many of them are held at once.
template <class T, class F> void for_columns(int64_t outer, int64_t n, int64_t inner, int64_t tiles, F&& f) {
  constexpr int64_t kGrain = 16384;  // elements
  const int64_t fit = kHeldBytes / int64_t(sizeof(T)) / tiles / n;
  const int64_t width = min_of(inner, min_of(kWidest, fit > 16 ? fit / 16 * 16 : fit)), blocks = (inner + width - 1) / width;
  parallel_for(outer * blocks, max_of(1, kGrain / (n * width)), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; t++) {
      const int64_t j = t % blocks * width;
      f(ColumnBlock<T>{n, min_of(width, inner - j)}, t / blocks * n * inner + j);
    }
  });
}

template <class T> void softmax_columns(Source x, Target y, int64_t outer, int64_t n, int64_t inner, bool log) {
  for_columns<T>(outer, n, inner, 1, [&](const ColumnBlock<T>& block, int64_t at) {
    alignas(64) T held[kHeldBytes / sizeof(T)];
    int64_t x_step, y_step;
    const T* from = block.read(x, at, inner, held, x_step);
    T* to = block.open(y, at, inner, held, y_step);
    forward_columns(from, x_step, to, y_step, n, block.width, log);
    block.close(y, at, inner, to);
  });
}
template <class T>
void softmax_columns_backward(Source y, Source dy, Target dx, int64_t outer, int64_t n, int64_t inner, bool log) {
  for_columns<T>(outer, n, inner, 2, [&](const ColumnBlock<T>& block, int64_t at) {
    alignas(64) T held[2][kHeldBytes / sizeof(T) / 2];
    int64_t y_step, dy_step, dx_step;
    const T *ys = block.read(y, at, inner, held[0], y_step), *dys = block.read(dy, at, inner, held[1], dy_step);
    T* to = block.open(dx, at, inner, held[1], dx_step);
    backward_columns(ys, y_step, dys, dy_step, to, dx_step, n, block.width, log);
    block.close(dx, at, inner, to);
  });
}

}  // namespace dyadic::DY_ISA
