// Conversions that clamp: to floats within their largest number (infinities too), to integers within their range (NaN gives 0).
#include "formats/saturate.h"

#include <algorithm>
#include <cmath>

namespace dyadic::inline v1 {
namespace {

constexpr int64_t kTile = 512;

// The largest and smallest number of an integer dtype.
struct Range {
  int64_t low, high;
};
Range range_of(const FormatDef& d) {
  if (d.kind == Kind::boolean) return {0, 1};
  if (d.kind == Kind::uint) return {0, d.bits == 64 ? INT64_MAX : int64_t((uint64_t{1} << d.bits) - 1)};
  const int64_t high = d.bits == 64 ? INT64_MAX : (int64_t{1} << (d.bits - 1)) - 1;
  return {-high - 1, high};
}
int64_t clamp_real(double x, Range r) {
  if (std::isnan(x)) return 0;
  return x >= double(r.high) ? r.high : x <= double(r.low) ? r.low : int64_t(x);
}

void to_integers(const Format& from, const void* source, const Format& to, void* target, int64_t n) {
  const Range r = range_of(*to.def);
  const bool reals = from.compute() == Compute::f32 || from.compute() == Compute::f64;
  double x[kTile];
  int64_t v[kTile];
  if (reals)
    convert(from, source, detail::f64, x, n);
  else
    convert(from, source, detail::i64, v, n);
  for (int64_t i = 0; i < n; ++i) v[i] = reals ? clamp_real(x[i], r) : std::clamp(v[i], r.low, r.high);
  convert(detail::i64, v, to, target, n);
}

// In the source's compute type, where the target's largest number is exact or out of reach.
template <class T> void clamp_all(T* x, int64_t n, double max) {
  const T high = T(max);
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] > high ? high : x[i] < -high ? -high : x[i];
}
void to_floats(const Format& from, const void* source, const Format& to, void* target, int64_t n, const Round& round) {
  alignas(64) char tile[kTile * 8];
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
  }
  convert(wide, tile, to, target, n, round);
}

}  // namespace

void convert_saturated(const Format& from, const void* source, const Format& to, void* target, int64_t n, const Round& round) {
  Round tile = round;
  tile.overflow = Overflow::standard;
  for (int64_t i = 0; i < n; i += kTile) {
    const int64_t m = std::min(kTile, n - i);
    const void* in = static_cast<const char*>(source) + i * from.itemsize();
    void* out = static_cast<char*>(target) + i * to.itemsize();
    tile.index = round.index + uint64_t(i);
    if (to.def->kind == Kind::floating)
      to_floats(from, in, to, out, m, tile);
    else
      to_integers(from, in, to, out, m);
  }
}

}  // namespace dyadic::inline v1
