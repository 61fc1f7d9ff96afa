// Elements of any format, found by their number in storage order and decoded a few at a time.
#pragma once
#include "formats/format.h"

namespace dyadic::inline v1 {

struct Stored {
  const Format* format = nullptr;
  const Format* as = nullptr;  // what they are decoded to
  Geometry geometry{};         // of a blocked format
  int64_t first = 0;           // where a matrix begins
};
// n elements, `step` apart, from number `begin` on. `storage`: the beginning of a blocked format's; of others element 0.
void read_stored(const Stored& b, const void* storage, int64_t begin, int64_t step, int64_t n, void* out);

}  // namespace dyadic::inline v1
