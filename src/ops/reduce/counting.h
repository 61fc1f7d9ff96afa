// Counts by place, in pieces that have counts of their own until the end: whole numbers, so that the order is of no account.
#pragma once
#include "ops/common.h"

namespace dyadic::inline v1::ops {

inline constexpr int64_t kCountPieces = 8;

inline bool counts_in_pieces(int64_t n, int64_t size) { return n >= 1 << 16 && size <= n / 16; }
inline int64_t counting_workspace(int64_t n, int64_t size) { return counts_in_pieces(n, size) ? kCountPieces * size * 8 : 0; }

// count(begin, end, counts) adds elements [begin, end) to counts[size]. The op's output and workspace hold the counts.
template <class F> void count_all(Call& c, int64_t n, int64_t size, F&& count) {
  auto* total = c.out[0].data<int64_t>();
  std::fill_n(total, size, int64_t{0});
  if (!counts_in_pieces(n, size)) return count(int64_t{0}, n, total);
  auto* own = static_cast<int64_t*>(c.workspace);
  parallel_for(kCountPieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      std::fill_n(own + p * size, size, int64_t{0});
      count(n * p / kCountPieces, n * (p + 1) / kCountPieces, own + p * size);
    }
  });
  for (int64_t p = 0; p < kCountPieces; ++p)
    for (int64_t k = 0; k < size; ++k) total[k] += own[p * size + k];
}

}  // namespace dyadic::inline v1::ops
