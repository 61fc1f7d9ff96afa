// What is read at indexed places of a stored (scaled or packed) tensor: those elements alone are decoded.
#pragma once
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops {

struct StoredRows {
  struct Dims {
    int count = 0;
    int64_t numel = 1, lengths[kMaxDims], steps[kMaxDims];
    void add(int64_t length, int64_t step) { lengths[count] = length, steps[count++] = step, numel *= length; }
    int64_t element(int64_t i) const;  // of the i-th entry, counted from the last dimension
  };
  Operand self, result;
  Dims before, after;                      // of the places, in the result
  int64_t places = 0, size = 0, step = 0;  // size, step: of the indexed dimension, where it is one

  StoredRows() = default;
  // mask: self's indexed dimensions; place: where the places come among the others.
  StoredRows(const Operand& self, const Operand& result, uint32_t mask, int64_t place, int64_t places);
  // offsets: for every place the element that it is, relative to the first; behind them in a workspace of so many bytes.
  int64_t workspace() const;
  void run(const void* storage, int64_t* offsets, void* to) const;

 private:
  void read(const void* storage, const int64_t* offsets, char* to) const;
  void run_places(const void* storage, const int64_t* offsets, char* result) const;
};

}  // namespace dyadic::inline v1::ops
