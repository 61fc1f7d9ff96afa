// Reading and writing a convolution's blocks: a copy of what the positions read, padded with zeros and decoded; rows of the
// written side. Only for files compiled per instruction set.
#pragma once
#include "loops/conv_plan.h"

namespace dyadic::DY_ISA {

template <class T> static void read_row(Source x, int64_t at, T* to, int64_t n) {
  if (stores<T>(x.format)) {
    load_row(static_cast<const T*>(x.data) + at, to, n);
  } else {
    x.format->def->decode(element(x, at), to, n);
  }
}
template <class T> static void write_row(const T* from, Target y, int64_t at, int64_t n) {
  if (stores<T>(y.format)) {
    load_row(from, static_cast<T*>(y.data) + at, n);
  } else {
    y.format->def->encode(from, element(y, at), n, Round{});
  }
}

// What a block's positions read of each channel: `extent` elements per axis from `low` on, of which the last axis has those
// from `left` to `right`; the others are padding.
struct ConvWindow {
  int64_t low[3], extent[3], left, right;
  const ConvAxis* axis;

  ConvWindow(const ConvPlan& p, const ConvBlock& b) : axis(p.axis) {
    for (int d = 0; d < 3; d++) {
      low[d] = b.begin[d] * p.axis[d].step + p.axis[d].lowest();
      extent[d] = p.axis[d].extent(b.size[d]);
    }
    left = max_of(0, min_of(extent[2], -low[2]));
    right = max_of(left, min_of(extent[2], axis[2].size - low[2]));
  }
  int64_t channel() const { return axis[0].size * axis[1].size * axis[2].size; }

  // Calls f(the row's element `low`, where it goes) for `count` channels; the element is negative in padding.
  template <class F> DY_INLINE void for_rows(const ConvPlan& p, int64_t count, F&& f) const {
    for (int64_t c = 0; c < count; c++) {
      for (int64_t i = 0; i < extent[0]; i++) {
        const int64_t u = low[0] + i;
        for (int64_t j = 0; j < extent[1]; j++) {
          const int64_t v = low[1] + j;
          const bool padding = u < 0 || u >= axis[0].size || v < 0 || v >= axis[1].size || right <= left;
          f(padding ? -1 : c * channel() + (u * axis[1].size + v) * axis[2].size + low[2] + left,
            c * p.plane + (i * p.extent[1] + j) * p.extent[2]);
        }
      }
    }
  }
};

inline constexpr int64_t kRowVectors = 4;  // of rows that are copied as vectors

// The copy of rows of at most kRowVectors vectors. What is written beyond a row's end is the next one's, which follows, or at
// the very end kLanes elements of nobody's.
template <class T> static void copy_short_rows(const ConvPlan& p, const ConvWindow& w, const T* x, int64_t count, T* to) {
  constexpr hn::ScalableTag<T> d;
  constexpr int64_t L = kLanes<T>;
  hn::Mask<decltype(d)> inside[kRowVectors];
  const int64_t vectors = (w.extent[2] + L - 1) / L;
  for (int64_t k = 0; k < vectors; k++) {
    const auto before = hn::FirstN(d, static_cast<size_t>(max_of(0, w.left - k * L)));
    inside[k] = hn::AndNot(before, hn::FirstN(d, static_cast<size_t>(max_of(0, w.right - k * L))));
  }
  w.for_rows(p, count, [&](int64_t from, int64_t at) {
    for (int64_t k = 0; k < vectors; k++) {
      const auto v = from < 0 ? hn::Zero(d) : hn::MaskedLoad(inside[k], d, x + from - w.left + k * L);
      hn::StoreU(v, d, to + at + k * L);
    }
  });
}

// What block b reads of `count` channels that begin at element `at`. `dense` has room for these channels as they are, or is
// null; `to` for kLanes elements more than the copy.
template <class T>
static void copy_block(const ConvPlan& p, const ConvBlock& b, Source x, int64_t at, int64_t count, T* dense, T* to) {
  const ConvWindow w(p, b);
  const T* stored = stores<T>(x.format) ? static_cast<const T*>(x.data) + at : nullptr;
  if (!stored && dense) {
    read_row(x, at, dense, count * w.channel());
    stored = dense;
  }
#if !DY_ISA_sse4  // where a masked load may touch what its mask leaves out
  if (stored && w.extent[2] <= kRowVectors * kLanes<T>) return copy_short_rows(p, w, stored, count, to);
#endif
  w.for_rows(p, count, [&](int64_t from, int64_t row) {
    if (from < 0) return zero_row(to + row, w.extent[2]);
    zero_row(to + row, w.left);
    if (stored)
      load_row(stored + from, to + row + w.left, w.right - w.left);
    else
      read_row(x, at + from, to + row + w.left, w.right - w.left);
    zero_row(to + row + w.right, w.extent[2] - w.right);
  });
}
// Elements of `dense`: where a block is a whole image, its channels are decoded at once.
template <class T> static int64_t dense_size(const ConvPlan& p, Source x) {
  return stores<T>(x.format) || p.cells() != 1 ? 0 : p.together * p.axis[0].size * p.axis[1].size * p.axis[2].size;
}

// Calls f(element of the written side's channel, number of the position, length) for the block's rows; elements of a row are
// axis[2].out_step apart.
template <class F> static void for_rows(const ConvPlan& p, const ConvBlock& b, const int64_t* sizes, F&& f) {
  auto at = [&](int d, int64_t i) { return p.axis[d].out_first + (b.begin[d] + i) * p.axis[d].out_step; };
  for (int64_t i = 0; i < b.size[0]; i++) {
    for (int64_t j = 0; j < b.size[1]; j++)
      f((at(0, i) * sizes[1] + at(1, j)) * sizes[2] + at(2, 0), (i * b.size[1] + j) * b.size[2], b.size[2]);
  }
}

// Whether the block is all of the written side's channel, in its order.
static inline bool is_whole(const ConvPlan& p, const ConvBlock& b, const int64_t* sizes) {
  return b.positions() == sizes[0] * sizes[1] * sizes[2] && p.axis[0].out_step * p.axis[1].out_step * p.axis[2].out_step == 1;
}
// A cursor over a workspace: parts begin at multiples of 64 bytes.
struct Scratch {
  char* at;
  explicit Scratch(void* p) : at(reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(p) + 63) / 64 * 64)) {}
  static int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64; }
  template <class T> T* take(int64_t n) {
    char* p = at;
    at += padded(n * int64_t(sizeof(T)));
    return reinterpret_cast<T*>(p);
  }
};

}  // namespace dyadic::DY_ISA
