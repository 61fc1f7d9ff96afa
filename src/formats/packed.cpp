#include "formats/packed.h"

#include <algorithm>

#include "base/parallel.h"
#include "formats/packed_kernel.h"

namespace dyadic::inline v1 {
namespace {

constexpr int64_t kPackedTile = 1024;  // whole bytes of codes of any width

}  // namespace

PlaneList planes_of(const Format& f, Geometry g) {
  if (f.is_scaled()) return f.def->planes(f, g);
  PlaneList list;
  list.count = 1;
  list.bytes = (g.numel() * f.def->bits + 7) / 8;
  list.buffer_bytes = list.bytes;
  list.plane[0] = {"codes", &detail::u8, 0, list.bytes};
  return list;
}

void decode_elements(const Format& f, const void* storage, Geometry g, int64_t begin, int64_t end, void* out) {
  if (f.is_scaled()) return f.def->decode_range(f, storage, g, begin, end, static_cast<float*>(out));
  const auto* packed = static_cast<const uint8_t*>(storage);
  uint8_t codes[kPackedTile + kCodeRoom];
  for (int64_t i = begin; i < end; i += kPackedTile) {
    const int64_t n = std::min(kPackedTile, end - i);
    packed_kernel().unpack(f.def->bits, packed, i, n, codes);
    f.def->decode(codes, static_cast<char*>(out) + (i - begin) * compute_size(f.compute()), n);
  }
}

void encode_packed(const Format& from, const void* in, const Format& to, void* storage, int64_t numel, const Round& round) {
  const int bits = to.def->bits;
  parallel_for((numel + kPackedTile - 1) / kPackedTile, 16, [&](int64_t first, int64_t last) {
    uint8_t codes[kPackedTile];
    for (int64_t i = first * kPackedTile; i < std::min(numel, last * kPackedTile); i += kPackedTile) {
      const int64_t n = std::min(kPackedTile, numel - i);
      Round tile = round;
      tile.index += uint64_t(i);
      convert(from, static_cast<const char*>(in) + i * from.itemsize(), to, codes, n, tile);
      packed_kernel().pack(bits, codes, n, static_cast<uint8_t*>(storage) + i / 8 * bits);
    }
  });
}

}  // namespace dyadic::inline v1
