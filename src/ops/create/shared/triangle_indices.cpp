#include "ops/create/triangle_indices.h"

#include <algorithm>

namespace dyadic::inline v1::ops {
namespace {

using Wide = __int128;  // sizes and sums of sizes of any matrix

struct Triangle {
  Wide rows, cols, offset;
  bool lower;
  // Of a row: the first column in the lower triangle's complement.
  Wide edge(Wide row, Wide shift) const { return std::clamp<Wide>(row + shift, 0, cols); }
  Wide begin(Wide row) const { return lower ? 0 : edge(row, offset); }
  Wide end(Wide row) const { return lower ? edge(row, offset + 1) : cols; }
  // Columns left of the edge, of all rows: none in the first, one more per row, all in the last.
  Wide left(Wide shift) const {
    const Wide from = std::clamp<Wide>(-shift, 0, rows), full = std::clamp<Wide>(cols - shift, from, rows);
    return (full - from) * (from + full - 1 + 2 * shift) / 2 + (rows - full) * cols;
  }
  Wide count() const { return lower ? left(offset + 1) : rows * cols - left(offset); }
};

}  // namespace

Tensor triangle_indices(const char* who, Args a, bool lower) {
  namespace arg = tril_indices_op::arg;
  const Triangle t{a[arg::row], a[arg::col], a[arg::offset], lower};
  DY_CHECK(t.rows >= 0 && t.cols >= 0, "{}: negative size: {} x {}", who, a[arg::row], a[arg::col]);
  const Wide n = t.count();
  DY_CHECK(n < Wide(1) << 58, "{}: too many: {} x {} with offset {}", who, a[arg::row], a[arg::col], a[arg::offset]);
  const Device device = !a.has(arg::device) ? cpu : a[arg::device];
  Tensor both = empty({2, int64_t(n)}, i64, device.is_meta() ? meta : cpu);
  if (!both.is_meta() && n) {
    int64_t *row = both.data<int64_t>(), *col = row + n;
    for (Wide i = 0; i < t.rows; ++i)
      for (Wide j = t.begin(i); j < t.end(i); ++j) *row++ = int64_t(i), *col++ = int64_t(j);
    both = both.to(device);
  }
  return !a.has(arg::dtype) ? both : to(both, a[arg::dtype]);
}

}  // namespace dyadic::inline v1::ops
