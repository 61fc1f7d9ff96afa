// Conversions that clamp: to floats within their largest number (infinities too), to integers within their range (NaN gives 0).
#include "formats/saturate.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace dyadic::inline v1 {
namespace {

constexpr int64_t kSaturateTile = 512;

// The largest and smallest number of an integer dtype; of all of them, u64's and i64's.
__extension__ typedef __int128 Whole;
struct Range {
  Whole low, high;
};
Range range_of(const FormatDef& d) {
  if (d.kind == Kind::boolean) return {0, 1};
  if (d.kind == Kind::uint) return {0, (Whole{1} << d.bits) - 1};
  const Whole high = (Whole{1} << (d.bits - 1)) - 1;
  return {-high - 1, high};
}
Whole clamp_real(double x, Range r) {
  if (std::isnan(x)) return 0;
  return x >= double(r.high) ? r.high : x <= double(r.low) ? r.low : Whole(x);
}

void to_integers(const Format& from, const void* source, const Format& to, void* target, int64_t n) {
  const Range r = range_of(*to.def);
  const bool unsigned_source = from.compute() == Compute::u64;
  int64_t bits[kSaturateTile];  // of the clamped value: those of a u64 where it is one
  if (real_of(from.compute()) == Compute::f32 || real_of(from.compute()) == Compute::f64) {
    double x[kSaturateTile];
    convert(from, source, detail::f64, x, n);
    for (int64_t i = 0; i < n; ++i) bits[i] = int64_t(clamp_real(x[i], r));
  } else {
    convert(from, source, unsigned_source ? detail::u64 : detail::i64, bits, n);
    for (int64_t i = 0; i < n; ++i)
      bits[i] = int64_t(std::clamp(unsigned_source ? Whole(uint64_t(bits[i])) : Whole(bits[i]), r.low, r.high));
  }
  convert(detail::i64, bits, to, target, n);
}

// In the source's compute type, where the target's largest number is exact or out of reach.
template <class T> void clamp_all(T* x, int64_t n, double max) {
  const T high = T(max);
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] > high ? high : T(0) > x[i] && x[i] < T(-high) ? T(-high) : x[i];
}
void to_floats(const Format& from, const void* source, const Format& to, void* target, int64_t n, const Round& round) {
  alignas(64) char tile[2 * kSaturateTile * 8];
  const Format& wide = compute_format(from.compute());
  convert(from, source, wide, tile, n);
  const double max = to.def->max;
  switch (from.compute()) {
    case Compute::f32:
      clamp_all(reinterpret_cast<float*>(tile), n, std::min(max, detail::f32.def->max));
      break;
    case Compute::f64:
      clamp_all(reinterpret_cast<double*>(tile), n, max);
      break;
    case Compute::i32:
      if (max < 0x1p31) clamp_all(reinterpret_cast<int32_t*>(tile), n, max);
      break;
    case Compute::i64:
      if (max < 0x1p63) clamp_all(reinterpret_cast<int64_t*>(tile), n, max);
      break;
    case Compute::u64:
      if (max < 0x1p64) clamp_all(reinterpret_cast<uint64_t*>(tile), n, max);
      break;
    default:
      DY_ASSERT(false);
  }
  convert(wide, tile, to, target, n, round);
}

// Complex numbers part by part.
const Format& part_of(const Format& f) { return compute_format(real_of(f.compute())); }
void saturate_tile(const Format& from, const void* source, const Format& to, void* target, int64_t n, const Round& round) {
  const bool pairs = is_complex(from.compute()), to_pairs = is_complex(to.compute());
  if (pairs && to_pairs) return to_floats(part_of(from), source, part_of(to), target, 2 * n, round);
  alignas(64) char real[kSaturateTile * 8];
  if (pairs) {
    convert(from, source, part_of(from), real, n);
    return saturate_tile(part_of(from), real, to, target, n, round);
  }
  if (to_pairs) {
    to_floats(from, source, part_of(to), real, n, round);
    return convert(part_of(to), real, to, target, n);
  }
  to.def->kind == Kind::floating ? to_floats(from, source, to, target, n, round) : to_integers(from, source, to, target, n);
}

}  // namespace

void convert_saturated(const Format& from, const void* source, const Format& to, void* target, int64_t n, const Round& round) {
  Round tile = round;
  tile.overflow = Overflow::standard;
  for (int64_t i = 0; i < n; i += kSaturateTile) {
    const int64_t m = std::min(kSaturateTile, n - i);
    const void* in = static_cast<const char*>(source) + i * from.itemsize();
    void* out = static_cast<char*>(target) + i * to.itemsize();
    tile.index = round.index + uint64_t(i);
    saturate_tile(from, in, to, out, m, tile);
  }
}

}  // namespace dyadic::inline v1
