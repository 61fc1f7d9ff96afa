// convert(): storage to storage between scalar formats, by way of the compute types, in tiles that stay in the first-level
// cache.
//
// Float to integer truncates towards zero. What does not fit, and NaN, gives the smallest i32 or i64, as PyTorch gives on x86;
// narrower integers take the low bits of the value truncated to i64, so 300.0 to u8 is 44 and infinity is 0.
#include "formats/convert_kernel.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "formats/saturate.h"

namespace dyadic::inline v1 {
namespace {

constexpr int64_t kTile = 1024;

// The storage of f32, f64, i32 and i64 is their compute type: no decoding, no encoding.
bool is_compute(const Format& f) { return &f == &compute_format(f.compute()); }

// How values reach the compute type of `to`.
void cross(const Format& from, const Format& to, const void* source, void* target, int64_t n) {
  const Compute c1 = from.compute(), c2 = to.compute();
  if (to.def->kind == Kind::boolean) return convert_kernel().nonzero(c1, source, static_cast<int32_t*>(target), n);
  if (c2 == Compute::i32 && !is_compute(to)) return convert_kernel().low32(c1, source, static_cast<int32_t*>(target), n);
  // Integers of 16 bits and fewer are exact in f32.
  const bool to_odd = c2 == Compute::f32 && !is_compute(to) && from.def->bits > 16;
  convert_kernel().run(c1, source, c2, target, n, to_odd);
}

}  // namespace

const Format& compute_format(Compute c) {
  switch (c) {
    case Compute::f32:
      return detail::f32;
    case Compute::f64:
      return detail::f64;
    case Compute::i32:
      return detail::i32;
    default:
      return detail::i64;
  }
}

void convert_compute(Compute from, const void* source, Compute to, void* target, int64_t n, bool to_odd) {
  convert_kernel().run(from, source, to, target, n, to_odd);
}

void convert(const Format& from, const void* source, const Format& to, void* target, int64_t n, const Round& round) {
  DY_ASSERT(!from.is_scaled() && !to.is_scaled());
  if (n <= 0) return;
  if (round.overflow == Overflow::saturate) return convert_saturated(from, source, to, target, n, round);
  if (&from == &to) return void(std::memcpy(target, source, size_t(n * from.itemsize())));
  const Compute c1 = from.compute(), c2 = to.compute();
  const bool from_compute = is_compute(from), to_compute = is_compute(to);
  const bool crossing = c1 != c2 || to.def->kind == Kind::boolean || (c2 == Compute::i32 && !to_compute && c1 != Compute::i32);
  if (!crossing && from_compute) return to.def->encode(source, target, n, round);
  if (!crossing && to_compute) return from.def->decode(source, target, n);
  if (crossing && from_compute && to_compute) return cross(from, to, source, target, n);
  alignas(64) char decoded[kTile * 8], crossed[kTile * 8];
  Round tile_round = round;
  const char* s = static_cast<const char*>(source);
  char* t = static_cast<char*>(target);
  for (int64_t i = 0; i < n; i += kTile) {
    const int64_t m = std::min(kTile, n - i);
    const void* at = s + i * from.itemsize();
    void* out = t + i * to.itemsize();
    if (!from_compute) {
      from.def->decode(at, decoded, m);
      at = decoded;
    }
    if (crossing) {
      void* into = to_compute ? out : crossed;
      cross(from, to, at, into, m);
      at = into;
    }
    tile_round.index = round.index + uint64_t(i);
    if (!to_compute) to.def->encode(at, out, m, tile_round);
  }
}

}  // namespace dyadic::inline v1
