#include "ops/index/stored_rows.h"

#include <bit>
#include <cstring>

#include "base/parallel.h"
#include "loops/pointwise.h"
#include "loops/stored.h"

namespace dyadic::inline v1::ops {

int64_t StoredRows::Dims::element(int64_t i) const {
  int64_t at = 0;
  for (int d = count - 1; d >= 0; --d) at += i % lengths[d] * steps[d], i /= lengths[d];
  return at;
}

StoredRows::StoredRows(const Operand& given, const Operand& to, uint32_t mask, int64_t place, int64_t n)
    : self(given), result(to), places(n) {
  for (int d = 0, at = 0; d < self.ndim; ++d)
    if (!(mask >> d & 1)) (at++ < place ? before : after).add(self.lengths[d], self.steps[d]);
  if (std::popcount(mask) == 1) size = self.lengths[std::countr_zero(mask)], step = self.steps[std::countr_zero(mask)];
}

int64_t StoredRows::workspace() const { return places * 8 + (result.dense ? 0 : result.count * result.itemsize()); }

void StoredRows::run(const void* storage, int64_t* offsets, void* to) const {
  if (result.dense) return read(storage, offsets, static_cast<char*>(to));
  read(storage, offsets, reinterpret_cast<char*>(offsets + places));
  copy_elements(Array(result, to), Array(result.sizes(), result.dtype(), offsets + places));
}

void StoredRows::read(const void* storage, const int64_t* offsets, char* to) const {
  if (after.count == 0) return run_places(storage, offsets, to);
  Dims rows = after;
  const int64_t n = rows.lengths[--rows.count], apart = rows.steps[rows.count], per_place = n ? after.numel / n : 0;
  const int64_t bytes = n * result.itemsize();
  const Stored from{self.format, result.format, self.geometry};
  parallel_for(before.numel * places * per_place, 1 + 4096 / (n + 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t outer = i / per_place, first = before.element(outer / places) + offsets[outer % places];
      read_stored(from, storage, self.offset + first + rows.element(i % per_place), apart, n, to + i * bytes);
    }
  });
}

// Along the last dimension single elements are read; where that is one indexed dimension, its row once.
void StoredRows::run_places(const void* storage, const int64_t* offsets, char* values) const {
  constexpr int64_t kRow = 32 << 10;  // bytes
  const int64_t item = result.itemsize();
  const bool whole = size > 0 && size * item <= kRow && size <= 4 * places;
  const Stored from{self.format, result.format, self.geometry};
  parallel_for(before.numel, 1 + 4096 / ((whole ? size : places) + 1), [&](int64_t begin, int64_t end) {
    alignas(64) char row[kRow];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = self.offset + before.element(i);
      char* to = values + i * places * item;
      if (whole) read_stored(from, storage, first, step, size, row);
      for (int64_t j = 0; j < places; ++j, to += item)
        if (whole)
          std::memcpy(to, row + (step ? offsets[j] / step : 0) * item, size_t(item));
        else
          read_stored(from, storage, first + offsets[j], 1, 1, to);
    }
  });
}

}  // namespace dyadic::inline v1::ops
