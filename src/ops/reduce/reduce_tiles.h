// Reductions whose state W is measured a tile at a time and merged, merge(W, W), in the order of the tiles: log-sum-exp,
// moments.
#pragma once
#include "ops/reduce/reduce_loops.h"

namespace dyadic::DY_ISA {

// tile(x, n) measures n elements; slab(at, step, rows, width, out) columns; write(at, n, values) results. kBlock: of a tile.
template <class W, int64_t kBlock, class T, class Tile, class Slab, class Write>
void reduce_tiles(const ReduceShape& shape, const Tiles<T>& x, void* workspace, Tile tile, Slab slab, Write write) {
  auto chunk = [&](int64_t at, int64_t n, int64_t) {
    alignas(64) T buffer[kBlock];
    W total;
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t count = min_of(kBlock, n - i);
      total = merge(total, tile(x.read(at + i, count, buffer), count));
    }
    return total;
  };
  auto short_rows = [&](int64_t at, int64_t step, int64_t outer, int64_t n, int64_t inner, W* out) {
    alignas(64) T buffer[kSumBlock];
    const T* from = x.read_rows(at, outer, n * inner, step, buffer);
    for (int64_t r = 0; r < outer; r++, from += step) {
      for (int64_t j = 0; j < inner; j++) {
        T row[kShortRow];
        for (int64_t i = 0; i < n && inner > 1; i++) row[i] = from[i * inner + j];
        out[r * inner + j] = tile(inner > 1 ? row : from, n);
      }
    }
  };
  auto columns = [&](int64_t at, int64_t step, int64_t rows, int64_t width, int64_t, W* out) {
    slab(at, step, rows, width, out);
  };
  auto merge_all = [](W* into, const W* from, int64_t n) {
    for (int64_t i = 0; i < n; i++) into[i] = merge(into[i], from[i]);
  };
  reduce_shape<W>(shape, sizeof(T), workspace, {chunk, short_rows, columns, merge_all, write});
}

}  // namespace dyadic::DY_ISA
