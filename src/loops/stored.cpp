#include "loops/stored.h"

#include <algorithm>
#include <cstring>

#include "formats/packed.h"

namespace dyadic::inline v1 {
namespace {

constexpr int64_t kTile = 512;

// Neighbours, in the format's compute type or, of scalars, straight in `as`.
void decode_run(const Stored& b, const char* storage, int64_t begin, int64_t n, char* out) {
  const Format& f = *b.format;
  const Format& own = compute_format(f.compute());
  if (!f.is_blocked()) return convert(f, storage + begin * f.itemsize(), *b.as, out, n);
  if (&own == b.as) return decode_elements(f, storage, b.geometry, begin, begin + n, out);
  alignas(64) char tile[kTile * 8];
  for (int64_t i = 0; i < n; i += kTile) {
    const int64_t count = std::min(kTile, n - i);
    decode_elements(f, storage, b.geometry, begin + i, begin + i + count, tile);
    convert(own, tile, *b.as, out + i * b.as->itemsize(), count);
  }
}

}  // namespace

void read_stored(const Stored& b, const void* storage, int64_t begin, int64_t step, int64_t n, void* out) {
  const char* from = static_cast<const char*>(storage);
  char* to = static_cast<char*>(out);
  const int64_t size = b.as->itemsize(), apart = step < 0 ? -step : step;
  if (step == 1 || n == 1) return decode_run(b, from, begin, n, to);
  constexpr int64_t kNear = 8;  // elements apart that are decoded with what lies between
  if (apart == 0 || apart > kNear) {
    for (int64_t i = 0; i < n; ++i) decode_run(b, from, begin + i * step, 1, to + i * size);
    return;
  }
  alignas(64) char tile[kTile * 8];
  const int64_t each = (kTile - 1) / apart + 1;
  for (int64_t i = 0; i < n; i += each) {
    const int64_t count = std::min(each, n - i), first = begin + i * step, last = first + (count - 1) * step;
    decode_run(b, from, std::min(first, last), (count - 1) * apart + 1, tile);
    for (int64_t j = 0; j < count; ++j)
      std::memcpy(to + (i + j) * size, tile + (step > 0 ? j : count - 1 - j) * apart * size, size_t(size));
  }
}

}  // namespace dyadic::inline v1
