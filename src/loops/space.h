// The iteration space of elementwise loops: operands broadcast to one shape, dimensions merged, walked a tile at a time.
#pragma once
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "loops/pointwise.h"
#include "loops/stream_kernel.h"

namespace dyadic::inline v1::tiles {

inline constexpr int64_t kTileBytes = 8192;  // tiles of all operands stay in L1
struct Operand {
  char* base = nullptr;
  const Format* format = nullptr;
  int64_t size = 0;          // bytes of an element
  int64_t stride[kMaxDims];  // in bytes
};

// The iteration space after merging dimensions that are dense in every operand.
struct Space {
  int ndim = 0;
  int64_t size[kMaxDims];
  Operand op[PointwiseLoop::kOperands + 1];
  int count = 0;

  void add(const Tensor& t, const Tensor& shape) {
    const TensorImpl &i = *t.impl(), &o = *shape.impl();
    Operand& x = op[count++];
    x.base = i.data();
    x.format = i.dtype.format();
    x.size = x.format->itemsize();
    for (int d = 0; d < o.ndim; ++d) {
      int k = d - (o.ndim - i.ndim);
      x.stride[d] = k < 0 || i.sizes[k] == 1 ? 0 : i.strides[k] * x.size;
    }
  }
  void skip() { op[count++].format = nullptr; }
  void coalesce(const Tensor& shape) {
    const TensorImpl& o = *shape.impl();
    for (int d = 0; d < o.ndim; ++d) {
      if (o.sizes[d] == 1) continue;
      bool merge = ndim > 0;
      for (int k = 0; k < count && merge; ++k)
        if (op[k].format) merge = op[k].stride[ndim - 1] == op[k].stride[d] * o.sizes[d];
      int at = merge ? ndim - 1 : ndim++;
      size[at] = merge ? size[at] * o.sizes[d] : o.sizes[d];
      for (int k = 0; k < count; ++k)
        if (op[k].format) op[k].stride[at] = op[k].stride[d];
    }
    if (ndim == 0) {
      ndim = 1;
      size[0] = 1;
      for (int k = 0; k < count; ++k) op[k].stride[0] = op[k].size;
    }
  }
  // Whether operand k, the result, is large, dense and none of the inputs.
  bool streams(int k) const {
    int64_t bytes = op[k].size;
    for (int d = 0; d < ndim; ++d) bytes *= size[d];
    if (bytes < stream_bytes() || ndim != 1 || op[k].stride[0] != op[k].size) return false;
    for (int i = 0; i < k; ++i)
      if (op[i].format && op[i].base == op[k].base) return false;
    return true;
  }
  // Whether all operands are dense and of one integer dtype of one or two bytes.
  bool alike() const {
    for (int k = 0; k < count; ++k)
      if (op[k].format != op[0].format || op[k].stride[0] != op[k].size) return false;
    return ndim == 1 && op[0].format && op[0].format->def->kind != Kind::floating && op[0].size <= 2;
  }
  int64_t inner() const { return size[ndim - 1]; }
  int64_t tile() const {  // elements, as they are stored
    int64_t bytes = 1;
    for (int k = 0; k < count; ++k)
      if (op[k].format) bytes = std::max(bytes, op[k].size);
    return kTileBytes / bytes;
  }
  // Byte offset of operand k at row `row` (all dimensions but the last).
  int64_t row_offset(int k, int64_t row) const {
    int64_t at = 0;
    for (int d = ndim - 2; d > 0; --d) {
      at += row % size[d] * op[k].stride[d];
      row /= size[d];
    }
    return ndim > 1 ? at + row * op[k].stride[0] : 0;
  }
};

struct Sixteen {
  char bytes[16];
};
template <class T> void move_run(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * dst_stride, src + i * src_stride, sizeof(T));
}
inline void move_width(int64_t width, char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  if (dst_stride == width && src_stride == width) {
    std::memcpy(dst, src, size_t(n * width));
    return;
  }
  switch (width) {
    case 1:
      return move_run<uint8_t>(dst, dst_stride, src, src_stride, n);
    case 2:
      return move_run<uint16_t>(dst, dst_stride, src, src_stride, n);
    case 4:
      return move_run<uint32_t>(dst, dst_stride, src, src_stride, n);
    case 8:
      return move_run<uint64_t>(dst, dst_stride, src, src_stride, n);
    default:
      DY_ASSERT(width == 16);
      return move_run<Sixteen>(dst, dst_stride, src, src_stride, n);
  }
}

struct Cursor {  // one tile: n elements in the output's order, from `column` of `row` (all dimensions but the last) on
  const Space& s;
  int64_t row, column, n;

  // The tile's elements of operand k where they are one run of one row.
  bool in_row() const { return column + n <= s.inner(); }
  char* first(int k) const { return s.op[k].base + s.row_offset(k, row) + column * s.op[k].stride[s.ndim - 1]; }

  // Walks the tile's runs along the innermost dimension: f(row, column, count, done).
  template <class F> void runs(F&& f) const {
    const int64_t inner = s.inner();
    for (int64_t r = row, c = column, done = 0; done < n; ++r, c = 0) {
      const int64_t count = std::min(inner - c, n - done);
      f(r, c, count, done);
      done += count;
    }
  }
  // A pointer to n dense stored elements of operand k; gathers into `buffer` if need be.
  const char* dense(int k, char* buffer) const {
    const Operand& o = s.op[k];
    if (o.stride[s.ndim - 1] == o.size && in_row()) return first(k);
    runs([&](int64_t r, int64_t c, int64_t count, int64_t done) {
      int64_t st = o.stride[s.ndim - 1];
      move_width(o.size, buffer + done * o.size, o.size, o.base + s.row_offset(k, r) + c * st, st, count);
    });
    return buffer;
  }
  // The element that operand k is throughout the tile; null if it may be more than one.
  const char* repeated(int k) const { return s.op[k].stride[s.ndim - 1] == 0 && in_row() ? first(k) : nullptr; }
  char* dense_out(int k) const {  // null: not dense here, scatter afterwards
    return s.op[k].stride[s.ndim - 1] == s.op[k].size && in_row() ? first(k) : nullptr;
  }
  void scatter(int k, const char* buffer) const {
    const Operand& o = s.op[k];
    runs([&](int64_t r, int64_t c, int64_t count, int64_t done) {
      int64_t st = o.stride[s.ndim - 1];
      move_width(o.size, o.base + s.row_offset(k, r) + c * st, st, buffer + done * o.size, o.size, count);
    });
  }
};

}  // namespace dyadic::inline v1::tiles
