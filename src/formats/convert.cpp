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

// The storage of f32, f64, i32, i64, u64 and complex numbers is their compute type: no decoding, no encoding.
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

bool is_integer(const Format& f) { return (f.def->kind == Kind::sint || f.def->kind == Kind::uint) && f.def->bits >= 8; }
bool is_narrow(const Format& f) { return is_integer(f) && f.def->bits <= 16; }
void in_tiles(const Format& to, const float* source, void* target, int64_t n) {
  for (int64_t i = 0; i < n; i += kTile)
    convert_kernel().narrow(source + i, *to.def, static_cast<char*>(target) + i * to.itemsize(), std::min(kTile, n - i));
}

}  // namespace

const Format& compute_format(Compute c) {
  constexpr const Format* kFormats[kComputes] = {&detail::f32, &detail::f64, &detail::i32, &detail::i64,
                                                 &detail::u64, &detail::c64, &detail::c128};
  return *kFormats[int(c)];
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
  if (is_integer(from) && is_integer(to)) return convert_kernel().integers(*from.def, source, *to.def, target, n);
  if (&to == &detail::f32 && is_narrow(from)) return convert_kernel().widen(*from.def, source, static_cast<float*>(target), n);
  if (&from == &detail::f32 && is_narrow(to)) return in_tiles(to, static_cast<const float*>(source), target, n);
  if (to.def->kind == Kind::boolean && (is_narrow(from) || (from_compute && !is_complex(c1))))
    return convert_kernel().truth(*from.def, source, static_cast<uint8_t*>(target), n);
  if (!crossing && from_compute) return to.def->encode(source, target, n, round);
  if (!crossing && to_compute) return from.def->decode(source, target, n);
  if (crossing && from_compute && to_compute) return cross(from, to, source, target, n);
  alignas(64) char decoded[kTile * 16], crossed[kTile * 16];
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
