// The loops behind a strided copy: contiguous runs, repeated elements, register-tile transposes, and a gather for the rest.
#include "loops/strided_copy_kernel.h"

#include "loops/spaced.h"
#include "loops/stream_kernel.h"
#include "loops/strided_few.h"
#include "loops/strided_plan.h"
#include "loops/transpose_tile.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kPiece = 64 << 10;    // bytes of one unit of work: about 6 us of copying
constexpr int64_t kGrain = 2 * kPiece;  // below this a second thread costs more than it brings
constexpr int64_t kShortRow = 16;       // elements

int64_t at_least_one(int64_t n) { return n < 1 ? 1 : n; }

// Calls f(dst, src, count) for stretches of rows along dimension `first` that together are the rows [begin, end) of dimensions
// first, first + 1, ... (first fastest).
template <class F> void for_rows(const StridedPlan& p, int first, int64_t begin, int64_t end, F&& f) {
  if (first >= p.ndim) {
    if (begin < end) f(p.dst, p.src, int64_t{1});
    return;
  }
  int64_t at[kMaxCopyDims];
  char* dst = p.dst;
  const char* src = p.src;
  int64_t rest = begin;
  for (int d = first; d < p.ndim; d++) {
    at[d] = rest % p.size[d];
    rest /= p.size[d];
    dst += at[d] * p.dst_stride[d];
    src += at[d] * p.src_stride[d];
  }
  for (int64_t row = begin; row < end;) {
    int64_t count = p.size[first] - at[first];
    if (count > end - row) count = end - row;
    f(dst, src, count);
    row += count;
    at[first] += count;
    dst += count * p.dst_stride[first];
    src += count * p.src_stride[first];
    for (int d = first; d + 1 < p.ndim && at[d] == p.size[d]; d++) {
      dst += p.dst_stride[d + 1] - p.size[d] * p.dst_stride[d];
      src += p.src_stride[d + 1] - p.size[d] * p.src_stride[d];
      at[d] = 0;
      at[d + 1]++;
    }
  }
}

int64_t rows_from(const StridedPlan& p, int first) {
  int64_t rows = 1;
  for (int d = first; d < p.ndim; d++) rows *= p.size[d];
  return rows;
}

// A row, as whole vectors that may overlap. libc's memcpy costs 10 ns a call, as much as 200 bytes. Of longer rows eight
// vectors are read before they are written, to whole lines: where the destination lies a little behind the source in address
// bits 0 to 11, a load waits for the store before it, which those bits say it overlaps (rows of 4 KB, 14 bytes apart: by
// memcpy 2.4 GB/s).
inline void copy_run(char* dst, const char* src, int64_t bytes) {
  if (bytes < kVector) {
    __builtin_memcpy(dst, src, bytes);
    return;
  }
  auto* d = reinterpret_cast<uint8_t*>(dst);
  auto* s = reinterpret_cast<const uint8_t*>(src);
  int64_t i = 0;
  if (bytes > 512) {
    constexpr int64_t kMany = 8;
    hn::StoreU(hn::LoadU(kBytes, s), kBytes, d);
    for (i = kVector - int64_t(reinterpret_cast<uintptr_t>(d) % kVector); i + kMany * kVector <= bytes; i += kMany * kVector) {
      hn::Vec<hn::ScalableTag<uint8_t>> v[kMany];
      for (int64_t k = 0; k < kMany; k++) v[k] = hn::LoadU(kBytes, s + i + k * kVector);
      for (int64_t k = 0; k < kMany; k++) hn::Store(v[k], kBytes, d + i + k * kVector);
    }
  }
  for (; i + kVector <= bytes; i += kVector) hn::StoreU(hn::LoadU(kBytes, s + i), kBytes, d + i);
  const int64_t last = bytes - kVector;
  hn::StoreU(hn::LoadU(kBytes, s + last), kBytes, d + last);
}

void copy_runs(const StridedPlan& p) {
  const int64_t bytes = p.size[0] * p.width, rows = rows_from(p, 1);
  const int64_t pieces = (bytes + kPiece - 1) / kPiece;
  if (pieces == 1) {
    parallel_for(rows, at_least_one(kGrain / bytes), [&](int64_t begin, int64_t end) {
      for_rows(p, 1, begin, end, [&](char* dst, const char* src, int64_t count) {
        const int64_t ds = p.dst_stride[1], ss = p.src_stride[1];
        for (int64_t r = 0; r < count; r++) copy_run(dst + r * ds, src + r * ss, bytes);
      });
    });
    return;
  }
  const bool stream = bytes * rows >= stream_bytes();
  parallel_for(rows * pieces, kGrain / kPiece, [&](int64_t begin, int64_t end) {
    while (begin < end) {  // neighbouring pieces of a row go in one call
      const int64_t row = begin / pieces, from = begin % pieces;
      const int64_t to = from + (end - begin) < pieces ? from + (end - begin) : pieces;
      const int64_t first = from * kPiece, last = to == pieces ? bytes : to * kPiece;
      for_rows(p, 1, row, row + 1, [&](char* dst, const char* src, int64_t) {
        stream ? stream_kernel.write(dst + first, src + first, last - first) : copy_run(dst + first, src + first, last - first);
      });
      begin += to - from;
    }
    if (stream) stream_kernel.flush();
  });
}

template <int64_t W> void splat_run(char* dst, const char* value, int64_t n) {
  alignas(64) uint8_t pattern[kVector];
  for (int64_t i = 0; i < kVector; i += W) __builtin_memcpy(pattern + i, value, W);
  const auto v = hn::Load(kBytes, pattern);
  const int64_t bytes = n * W;
  auto* d = reinterpret_cast<uint8_t*>(dst);
  if (bytes < kVector) {
    for (int64_t i = 0; i < bytes; i += W) __builtin_memcpy(d + i, pattern, W);
    return;
  }
  for (int64_t i = 0; i + kVector <= bytes; i += kVector) hn::StoreU(v, kBytes, d + i);
  hn::StoreU(v, kBytes, d + bytes - kVector);  // the vector is whole elements, so an overlapping store keeps their phase
}

template <int64_t W> void splat_runs(const StridedPlan& p) {
  const int64_t n = p.size[0], rows = rows_from(p, 1), piece = kPiece / W;
  const int64_t pieces = (n + piece - 1) / piece;
  if (pieces == 1) {
    parallel_for(rows, at_least_one(kGrain / (n * W)), [&](int64_t begin, int64_t end) {
      for_rows(p, 1, begin, end, [&](char* dst, const char* src, int64_t count) {
        const int64_t ds = p.dst_stride[1], ss = p.src_stride[1];
        for (int64_t r = 0; r < count; r++) splat_run<W>(dst + r * ds, src + r * ss, n);
      });
    });
    return;
  }
  parallel_for(rows * pieces, kGrain / kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t row = i / pieces, first = i % pieces * piece;
      const int64_t count = n - first < piece ? n - first : piece;
      for_rows(p, 1, row, row + 1, [&](char* dst, const char* src, int64_t) { splat_run<W>(dst + first * W, src, count); });
    }
  });
}

template <int64_t W, bool kStream> void transpose(const StridedPlan& p) {
  constexpr int64_t kTile = W == 1 ? 128 : W == 2 ? 64 : 32;
  const int64_t across = (p.size[0] + kTile - 1) / kTile, down = (p.size[1] + kTile - 1) / kTile;
  const int64_t per_tile = (p.size[0] < kTile ? p.size[0] : kTile) * (p.size[1] < kTile ? p.size[1] : kTile) * W;
  parallel_for(across * down * rows_from(p, 2), at_least_one(kGrain / per_tile), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; t++) {
      const int64_t k = t % down * kTile, i = t / down % across * kTile, outer = t / (across * down);
      const int64_t rows = p.size[0] - i < kTile ? p.size[0] - i : kTile,
                    columns = p.size[1] - k < kTile ? p.size[1] - k : kTile;
      for_rows(p, 2, outer, outer + 1, [&](char* dst, const char* src, int64_t) {
        transpose_tile<W, kStream>(dst + i * W + k * p.dst_stride[1], p.dst_stride[1], src + i * p.src_stride[0] + k * W,
                                   p.src_stride[0], rows, columns);
      });
    }
    if constexpr (kStream) hwy::FlushStream();
  });
}

// body(dst, src, first, count): pieces of at most `piece` of n entries, which lie in the dimensions before the third.
template <class Body> void for_pieces(const StridedPlan& p, int64_t n, int64_t piece, Body&& body) {
  const int64_t pieces = (n + piece - 1) / piece, bytes = p.size[0] * p.size[1] * p.width / pieces;
  parallel_for(rows_from(p, 2) * pieces, at_least_one(kGrain / bytes), [&](int64_t begin, int64_t end) {
    if (pieces == 1)
      return for_rows(p, 2, begin, end, [&](char* dst, const char* src, int64_t rows) {
        for (int64_t r = 0; r < rows; r++) body(dst + r * p.dst_stride[2], src + r * p.src_stride[2], 0, n);
      });
    for (int64_t t = begin; t < end; t++) {
      const int64_t row = t / pieces, first = t % pieces * piece;
      for_rows(p, 2, row, row + 1,
               [&](char* dst, const char* src, int64_t) { body(dst, src, first, n - first < piece ? n - first : piece); });
    }
  });
}

// Large results are written past the caches, where every line of the destination can be written whole: twice the speed at
// 4096 x 4096 f32. Small ones stay in the cache for whoever reads them next.
template <int64_t W> void transpose(const StridedPlan& p) {
  if constexpr (W < 16) {
    const bool few =
        transpose_few<hn::TFromD<Unsigned<W>>>(p, [&](int64_t n, auto&& body) { for_pieces(p, n, kPiece / 4 / W, body); });
    if (few) return;
  }
  bool lines = reinterpret_cast<uintptr_t>(p.dst) % kLine == 0 && p.size[0] * rows_from(p, 1) * W >= stream_bytes();
  for (int d = 1; d < p.ndim; d++) lines = lines && p.dst_stride[d] % kLine == 0;
  if (lines) {
    transpose<W, true>(p);
  } else {
    transpose<W, false>(p);
  }
}

// Short rows: entry by entry of many of them.
template <int64_t W> void gather_short(const StridedPlan& p) {
  for_pieces(p, p.size[1], 512, [&](char* dst, const char* src, int64_t first, int64_t count) {
    dst += first * p.dst_stride[1], src += first * p.src_stride[1];
    for (int64_t k = 0; k < p.size[0]; k++)
      copy_spaced<W>(dst + k * p.dst_stride[0], p.dst_stride[1], src + k * p.src_stride[0], p.src_stride[1], count);
  });
}
template <int64_t W> void gather(const StridedPlan& p) {
  if (p.ndim > 1 && p.size[0] < kShortRow && p.size[1] > p.size[0]) return gather_short<W>(p);
  const int64_t ds = p.dst_stride[0], ss = p.src_stride[0];
  parallel_for(rows_from(p, 0), kGrain / W / 2, [&](int64_t begin, int64_t end) {
    for_rows(p, 0, begin, end, [&](char* dst, const char* src, int64_t count) { move_spaced<W>(dst, ds, src, ss, count); });
  });
}

template <int64_t W> void run_plan(const StridedPlan& p) {
  switch (p.kind) {
    case StridedPlan::Kind::nothing:
      return;
    case StridedPlan::Kind::run:
      return copy_runs(p);
    case StridedPlan::Kind::splat:
      return splat_runs<W>(p);
    case StridedPlan::Kind::transpose:
      return transpose<W>(p);
    case StridedPlan::Kind::gather:
      return gather<W>(p);
  }
}

// Calls f(std::integral_constant<int64_t, W>()) with the width.
template <class F> void with_width(int64_t width, F&& f) {
  switch (width) {
    case 1:
      return f(std::integral_constant<int64_t, 1>());
    case 2:
      return f(std::integral_constant<int64_t, 2>());
    case 4:
      return f(std::integral_constant<int64_t, 4>());
    case 8:
      return f(std::integral_constant<int64_t, 8>());
    default:
      return f(std::integral_constant<int64_t, 16>());
  }
}

void run_plan(const StridedPlan& p) {
  with_width(p.width, [&](auto w) { run_plan<decltype(w)::value>(p); });
}

template <int64_t W> void interleave_run(char* dst, const char* a, const char* b, int64_t n) {
  if constexpr (W < 16)
    join_rows<2>(reinterpret_cast<hn::TFromD<Unsigned<W>>*>(dst), a, b - a, n);
  else
    for (int64_t i = 0; i < n; i++, dst += 2 * W) __builtin_memcpy(dst, a + i * W, W), __builtin_memcpy(dst + W, b + i * W, W);
}

void interleave(void* dst, const void* a, const void* b, int64_t n, int64_t width) {
  constexpr int64_t kTile = 4096;  // bytes of a, and of b
  const bool stream = 2 * n * width >= stream_bytes();
  const int64_t tile = kTile / width;
  with_width(width, [&](auto w) {
    constexpr int64_t W = decltype(w)::value;
    parallel_for((n + tile - 1) / tile, kGrain / kTile, [&](int64_t begin, int64_t end) {
      alignas(64) char joined[2 * kTile];
      for (int64_t i = begin * tile; i < n && i < end * tile; i += tile) {
        const int64_t count = n - i < tile ? n - i : tile;
        char* to = static_cast<char*>(dst) + 2 * i * W;
        interleave_run<W>(stream ? joined : to, static_cast<const char*>(a) + i * W, static_cast<const char*>(b) + i * W,
                          count);
        if (stream) stream_kernel.write(to, joined, 2 * count * W);
      }
      if (stream) stream_kernel.flush();
    });
  });
}

void splat(char* dst, const char* value, int64_t n, int64_t width) {
  with_width(width, [&](auto w) { splat_run<decltype(w)::value>(dst, value, n); });
}

void spaced(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n, int64_t width) {
  with_width(width, [&](auto w) { move_spaced<decltype(w)::value>(dst, dst_stride, src, src_stride, n); });
}

void copy(void* dst, const int64_t* dst_strides, const void* src, const int64_t* src_strides, const int64_t* sizes, int ndim,
          int64_t width) {
  run_plan(plan_copy(dst, dst_strides, src, src_strides, sizes, ndim, width));
}

void fill(void* dst, const int64_t* dst_strides, const int64_t* sizes, int ndim, const void* value, int64_t width) {
  StridedPlan p = plan_fill(dst, dst_strides, sizes, ndim, width);
  p.src = static_cast<const char*>(value);
  run_plan(p);
}

}  // namespace

extern const StridedCopyKernel strided_copy_kernel = {copy, spaced, splat, interleave, fill};

}  // namespace dyadic::DY_ISA
