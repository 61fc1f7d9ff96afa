// Counts by place, in pieces that have counts of their own until the end: whole numbers, so that the order is of no account.
#pragma once
#include "ops/common.h"

namespace dyadic::inline v1::ops {

inline constexpr int64_t kCountPieces = 8;
// Neighbours of a small piece count in tables of their own: an addition to a number that has just been written waits for it
// (2.4 ns where all are equal). Without tables to spare all ways are one.
inline constexpr int64_t kCountWays = 4, kSpareCounts = 1024;
struct Counts {
  int64_t* way[kCountWays];
};

inline bool counts_in_pieces(int64_t n, int64_t size) { return n >= 1 << 16 && size <= n / 16; }
inline int64_t count_tables(int64_t size) { return size <= kSpareCounts ? kCountWays : 1; }
inline int64_t counting_workspace(int64_t n, int64_t size) {
  return counts_in_pieces(n, size) ? kCountPieces * count_tables(size) * size * 8 : 0;
}

// count(begin, end, counts) adds elements [begin, end) to any of the ways. The op's output and workspace hold the counts.
template <class F> void count_all(const Pointers& at, int64_t n, int64_t size, F&& count) {
  auto* total = static_cast<int64_t*>(at.out[0]);
  std::fill_n(total, size, int64_t{0});
  if (!counts_in_pieces(n, size)) return count(int64_t{0}, n, Counts{{total, total, total, total}});
  auto* own = static_cast<int64_t*>(at.workspace);
  const int64_t tables = count_tables(size);
  parallel_for(kCountPieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      int64_t* mine = own + p * tables * size;
      std::fill_n(mine, tables * size, int64_t{0});
      Counts counts;
      for (int64_t w = 0; w < kCountWays; ++w) counts.way[w] = mine + w % tables * size;
      count(n * p / kCountPieces, n * (p + 1) / kCountPieces, counts);
    }
  });
  for (int64_t p = 0; p < kCountPieces * tables; ++p)
    for (int64_t k = 0; k < size; ++k) total[k] += own[p * size + k];
}

}  // namespace dyadic::inline v1::ops
