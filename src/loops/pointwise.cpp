#include "loops/pointwise.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"
#include "loops/stream_kernel.h"
#include "loops/strided_copy_kernel.h"

namespace dyadic::inline v1 {
namespace {

constexpr int64_t kTile = 1024;  // elements of at most 8 bytes; tiles of all operands stay in L1
constexpr int64_t kTileBytes = kTile * 8;
constexpr int64_t kRow = 256;  // rows at least this long are cut into tiles on their own: their operands need no gathering
constexpr int64_t kGrain = 32 << 10;  // elements a thread takes at least

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
    if (bytes < kStreamBytes || ndim != 1 || op[k].stride[0] != op[k].size) return false;
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
  int64_t tile() const {
    for (int k = 0; k < count; ++k)
      if (op[k].format && op[k].size > 8) return kTile / 2;
    return kTile;
  }
  // Byte offset of operand k at row `row` (all dimensions but the last).
  int64_t row_offset(int k, int64_t row) const {
    int64_t at = 0;
    for (int d = ndim - 2; d >= 0; --d) {
      at += row % size[d] * op[k].stride[d];
      row /= size[d];
    }
    return at;
  }
};

struct Sixteen {
  char bytes[16];
};
template <class T> void move_run(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * dst_stride, src + i * src_stride, sizeof(T));
}
void move_width(int64_t width, char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
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

struct Cursor {  // one tile: elements [begin, begin + n) in the output's order
  const Space& s;
  int64_t begin, n;

  // Walks the tile's runs along the innermost dimension: f(row, column, count, done).
  template <class F> void runs(F&& f) const {
    int64_t inner = s.inner(), row = begin / inner, col = begin % inner, done = 0;
    while (done < n) {
      int64_t count = std::min(inner - col, n - done);
      f(row, col, count, done);
      done += count;
      col = 0;
      ++row;
    }
  }
  // A pointer to n dense stored elements of operand k; gathers into `buffer` if need be.
  const char* dense(int k, char* buffer) const {
    const Operand& o = s.op[k];
    int64_t inner = s.inner(), row = begin / inner, col = begin % inner;
    if (o.stride[s.ndim - 1] == o.size && col + n <= inner) return o.base + s.row_offset(k, row) + col * o.size;
    runs([&](int64_t r, int64_t c, int64_t count, int64_t done) {
      int64_t st = o.stride[s.ndim - 1];
      move_width(o.size, buffer + done * o.size, o.size, o.base + s.row_offset(k, r) + c * st, st, count);
    });
    return buffer;
  }
  // The element that operand k is throughout the tile; null if it may be more than one.
  const char* repeated(int k) const {
    const Operand& o = s.op[k];
    const int64_t inner = s.inner(), row = begin / inner, col = begin % inner;
    return o.stride[s.ndim - 1] == 0 && col + n <= inner ? o.base + s.row_offset(k, row) : nullptr;
  }
  char* dense_out(int k) const {  // null: not dense here, scatter afterwards
    const Operand& o = s.op[k];
    int64_t inner = s.inner(), row = begin / inner, col = begin % inner;
    if (o.stride[s.ndim - 1] == o.size && col + n <= inner) return o.base + s.row_offset(k, row) + col * o.size;
    return nullptr;
  }
  void scatter(int k, const char* buffer) const {
    const Operand& o = s.op[k];
    runs([&](int64_t r, int64_t c, int64_t count, int64_t done) {
      int64_t st = o.stride[s.ndim - 1];
      move_width(o.size, o.base + s.row_offset(k, r) + c * st, st, buffer + done * o.size, o.size, count);
    });
  }
};

bool stored_as(const Format& f, Compute c) { return &f == &compute_format(c); }

const void* load(const Format& f, const char* stored, Compute compute, char* tile, char* other, int64_t n) {
  if (stored_as(f, compute)) return stored;
  if (f.compute() == compute) {
    f.def->decode(stored, tile, n);
    return tile;
  }
  const void* own = stored;
  if (!stored_as(f, f.compute())) f.def->decode(stored, other, n), own = other;
  convert_compute(f.compute(), own, compute, tile, n);
  return tile;
}

void store(const Format& f, const void* tile, Compute compute, bool mask, char* stored, char* other, int64_t n) {
  if (mask) {
    convert(*boolean.format(), tile, f, stored, n);
    return;
  }
  if (f.compute() != compute) {
    bool narrow = f.compute() == Compute::f32 && f.def->bits < 32;
    convert_compute(compute, tile, f.compute(), other, n, narrow);
    tile = other;
  }
  f.def->encode(tile, stored, n, Round{});
}

// Cuts the space into tiles and runs body(begin, n) on them, rows apart when they are long. stream: they were streamed.
template <class Body> void for_tiles(const Space& s, int64_t tile, bool stream, const Body& body) {
  int64_t inner = s.inner(), rows = 1;
  for (int d = 0; d < s.ndim - 1; ++d) rows *= s.size[d];
  if (inner < kRow) {
    int64_t total = rows * inner, tiles = (total + tile - 1) / tile;
    parallel_for(tiles, kGrain / tile, [&](int64_t b, int64_t e) {
      for (int64_t t = b; t < e; ++t) body(t * tile, std::min(tile, total - t * tile));
    });
    return;
  }
  int64_t per_row = (inner + tile - 1) / tile, grain = std::max<int64_t>(1, kGrain / std::min(inner, tile));
  parallel_for(rows * per_row, grain, [&](int64_t b, int64_t e) {
    for (int64_t t = b; t < e; ++t) {
      int64_t c = t % per_row * tile;
      body(t / per_row * inner + c, std::min(tile, inner - c));
    }
    if (stream) stream_kernel().flush();
  });
}

// n copies of one stored element, in the compute type.
void splat(const Format& f, const char* stored, Compute compute, char* tile, int64_t n) {
  if (compute == Compute::f32 && stored_as(f, Compute::f64)) {  // a number
    const float value = float(*reinterpret_cast<const double*>(stored));
    if (n <= 16)
      std::fill_n(reinterpret_cast<float*>(tile), n, value);
    else
      strided_copy_kernel().splat(tile, reinterpret_cast<const char*>(&value), n, sizeof(float));
    return;
  }
  alignas(16) char one[16], other[16];
  const void* value = load(f, stored, compute, one, other, 1);
  strided_copy_kernel().splat(tile, static_cast<const char*>(value), n, compute_size(compute));
}

// Small results of dense operands of their compute type, and of single elements: one tile, without the search for a way through
// strides that costs more than it. False: not of that kind.
bool run_small(const PointwiseLoop& loop, const Tensor& out, bool direct) {
  constexpr int64_t kSmall = 128;
  const int64_t n = out.numel();
  if (n > kSmall || !direct || !out.is_contiguous()) return false;
  alignas(64) char tiles[PointwiseLoop::kOperands][kSmall * 16];
  const void* pointers[PointwiseLoop::kOperands];
  for (int i = 0; i < loop.inputs; ++i) {
    pointers[i] = nullptr;
    if (!loop.in[i]) continue;
    const TensorImpl& t = *loop.in[i]->impl();
    if (t.numel == n && t.contiguous() && stored_as(*t.dtype.format(), loop.compute)) {
      pointers[i] = t.data();
    } else if (t.numel == 1) {
      splat(*t.dtype.format(), t.data(), loop.compute, tiles[i], n);
      pointers[i] = tiles[i];
    } else {
      return false;
    }
  }
  loop.tile(pointers, out.impl()->data(), loop.params, n, false);
  return true;
}

// Integers of one dtype narrower than the lanes: as words, as they lie. A bool of any byte but 0 counts as 1.
void run_bits(const PointwiseLoop& loop, const Space& s) {
  constexpr int64_t kBytes = 4096;
  const int64_t bytes = s.size[0] * s.op[0].size;
  const bool truth = s.op[0].format == boolean.format();
  parallel_for((bytes + kBytes - 1) / kBytes, kGrain / kBytes, [&](int64_t begin, int64_t end) {
    alignas(64) uint8_t buffer[PointwiseLoop::kOperands + 1][kBytes];
    const void* in[PointwiseLoop::kOperands];
    for (int64_t at = begin * kBytes; at < std::min(bytes, end * kBytes); at += kBytes) {
      const int64_t n = std::min(kBytes, bytes - at);
      for (int k = 0; k < loop.inputs; ++k) {
        in[k] = s.op[k].base + at;
        if (n == kBytes && !truth) continue;
        in[k] = std::memcpy(buffer[k], in[k], size_t(n));
        if (!truth) continue;
        for (int64_t i = 0; i < kBytes; ++i) buffer[k][i] = buffer[k][i] != 0;
      }
      char* out = s.op[loop.inputs].base + at;
      loop.tile(in, n == kBytes ? out : static_cast<void*>(buffer[loop.inputs]), loop.params, (n + 3) / 4, false);
      if (n < kBytes) std::memcpy(out, buffer[loop.inputs], size_t(n));
    }
  });
}

}  // namespace

void PointwiseLoop::run(const Tensor& out) const {
  if (out.numel() == 0) return;
  const Compute leaves = real_out ? real_of(compute) : compute;
  const Format& target = *out.dtype().format();
  const bool direct = mask_out ? &target == boolean.format() : stored_as(target, leaves);
  if (run_small(*this, out, direct)) return;
  Space s;
  for (int i = 0; i < inputs; ++i) in[i] ? s.add(*in[i], out) : s.skip();
  int o = s.count;
  s.add(out, out);
  s.coalesce(out);
  if (bits && s.alike()) return run_bits(*this, s);
  const bool stream = s.streams(o);
  // Vectors of floats are streamed as they are computed, so that reading, computing and writing overlap; else a tile is.
  const bool vectors = stream && direct && !mask_out && (compute == Compute::f32 || compute == Compute::f64) &&
                       reinterpret_cast<uintptr_t>(s.op[o].base) % 64 == 0;
  const int64_t most = compute == Compute::c128 ? kTile / 2 : s.tile();
  alignas(64) char constants[kOperands][kTileBytes];  // the single elements, which all tiles share
  for (int i = 0; i < inputs; ++i)
    if (in[i] && in[i]->numel() == 1) splat(*s.op[i].format, s.op[i].base, compute, constants[i], std::min(most, out.numel()));
  for_tiles(s, most, stream, [&](int64_t begin, int64_t n) {
    alignas(64) char tiles[kOperands][kTileBytes];
    alignas(64) char gathered[kTileBytes];
    alignas(64) char result[kTileBytes];
    alignas(64) char other[kTileBytes];
    Cursor at{s, begin, n};
    const void* pointers[kOperands];
    for (int i = 0; i < inputs; ++i) {
      if (!in[i]) {
        pointers[i] = nullptr;
        continue;
      }
      if (in[i]->numel() == 1) {
        pointers[i] = constants[i];
        continue;
      }
      const Format& f = *s.op[i].format;
      if (const char* one = at.repeated(i)) {
        splat(f, one, compute, tiles[i], n);
        pointers[i] = tiles[i];
        continue;
      }
      bool as_is = stored_as(f, compute);
      const char* stored = at.dense(i, as_is ? tiles[i] : gathered);
      pointers[i] = load(f, stored, compute, tiles[i], other, n);
    }
    char* dense = at.dense_out(o);
    const bool in_place = dense && (!stream || vectors);
    char* stored = in_place ? dense : direct ? result : gathered;
    if (direct) {
      tile(pointers, stored, params, n, vectors);
    } else {
      tile(pointers, result, params, n, false);
      store(target, result, leaves, mask_out, stored, other, n);
    }
    if (stream && !vectors)
      stream_kernel().write(dense, stored, n * target.itemsize());
    else if (!dense)
      at.scatter(o, stored);
  });
}

void copy_elements(const Tensor& dst, const Tensor& src, const Round& round) {
  if (dst.numel() == 0) return;
  Space s;
  s.add(src, dst);
  s.add(dst, dst);
  s.coalesce(dst);
  const Format &from = *s.op[0].format, &to = *s.op[1].format;
  if (&from == &to) {  // moving, not computing: transposes in blocks
    int64_t strides[2][kMaxDims];
    for (int k = 0; k < 2; ++k)
      for (int d = 0; d < s.ndim; ++d) strides[k][d] = s.op[k].stride[d] / s.op[k].size;
    strided_copy_kernel().copy(s.op[1].base, strides[1], s.op[0].base, strides[0], s.size, s.ndim, s.op[0].size);
    return;
  }
  const bool stream = s.streams(1);
  for_tiles(s, s.tile(), stream, [&](int64_t begin, int64_t n) {
    alignas(64) char gathered[kTileBytes];
    alignas(64) char result[kTileBytes];
    Cursor at{s, begin, n};
    const char* stored = at.dense(0, gathered);
    char* dense = at.dense_out(1);
    Round r = round;
    r.index += uint64_t(begin);
    char* target = dense && !stream ? dense : result;
    convert(from, stored, to, target, n, r);
    if (stream)
      stream_kernel().write(dense, result, n * to.itemsize());
    else if (!dense)
      at.scatter(1, result);
  });
}

}  // namespace dyadic::inline v1
