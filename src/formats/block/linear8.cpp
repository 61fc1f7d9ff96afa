// linear8: bitsandbytes' linear 8-bit code in flat blocks (create_linear_map, quantize_blockwise): 255 values k / 127, k = -127
// .. 127, times the block's absmax, with zero twice: codes 127 + k for k <= 0, 128 + k for k >= 0. Zero is written as 127. The
// nearest k, ties to even.
#include "base/parallel.h"
#include "formats/block/lanes.h"
#include "formats/layout.h"

namespace dyadic::DY_ISA {
namespace {

float value(uint8_t code) { return float(int(code) - (code > 127 ? 128 : 127)) / 127; }
uint8_t code_of(float k) { return uint8_t(int(k) + (k > 0 ? 128 : 127)); }

void decode_range(const Format& f, const void* storage, Geometry g, int64_t begin, int64_t end, float* out) {
  const FlatLayout l = flat_layout(f, g);
  const uint8_t* base = static_cast<const uint8_t*>(storage);
  const float* absmax = reinterpret_cast<const float*>(base + l.absmax);
  const uint8_t* codes = base + l.codes;
  constexpr hn::Rebind<uint8_t, I32> bytes{};
  for (int64_t i = begin; i < end;) {
    const int64_t block = i / l.block, stop = (block + 1) * l.block < end ? (block + 1) * l.block : end;
    const VF scale = hn::Set(kF32, absmax[block]), most = hn::Set(kF32, 127);
    for (; i + kLanes <= stop; i += kLanes, out += kLanes) {
      const VI c = hn::PromoteTo(kI32, hn::LoadU(bytes, codes + i));
      const VI upper = hn::VecFromMask(kI32, hn::Gt(c, hn::Set(kI32, 127)));  // -1 where it is
      const VF k = hn::ConvertTo(kF32, hn::Sub(hn::Add(c, upper), hn::Set(kI32, 127)));
      hn::StoreU(hn::Mul(hn::Div(k, most), scale), kF32, out);
    }
    for (; i < stop; ++i) *out++ = value(codes[i]) * absmax[block];
  }
}

// k for x / absmax; in a block of infinities only they count (Note [Poisoned blocks]).
void encode_block(const float* x, int64_t n, float absmax, uint8_t* codes) {
  if (!(absmax > 0) || !finite(absmax)) {
    for (int64_t i = 0; i < n; ++i) {
      const bool infinite = (float_bits(x[i]) & kAbsMask) == kInfBits;
      codes[i] = code_of(infinite ? (x[i] > 0 ? 127.0f : -127.0f) : 0.0f);
    }
    return;
  }
  const float lift = absmax < kTiny ? kLift : 1.0f, inverse = 127.0f / (absmax * lift);
  const VF a = hn::Set(kF32, lift), b = hn::Set(kF32, inverse);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const VI k = nearest(hn::Mul(hn::Mul(hn::LoadU(kF32, x + i), a), b));
    const VI upper = hn::VecFromMask(kI32, hn::Gt(k, hn::Zero(kI32)));
    store_bytes(hn::Sub(hn::Add(k, hn::Set(kI32, 127)), upper), codes + i);
  }
  for (; i < n; ++i) codes[i] = code_of(x[i] * lift * inverse + 0x1.8p23f - 0x1.8p23f);
}

void encode_all(const Format& f, const float* in, void* storage, Geometry g, const Round&) {
  const FlatLayout l = flat_layout(f, g);
  uint8_t* base = static_cast<uint8_t*>(storage);
  float* absmax = reinterpret_cast<float*>(base + l.absmax);
  parallel_for(l.blocks, 16384 / l.block + 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * l.block, n = first + l.block < l.numel ? l.block : l.numel - first;
      absmax[b] = bits_absmax(absmax_bits(in + first, n));
      encode_block(in + first, n, absmax[b], base + l.codes + first);
    }
  });
}

double decode1(const Format&, uint64_t code) { return double(value(uint8_t(code))); }
uint64_t encode1(const Format&, double x) {
  const float y = float(x) * 127, k = y > 127 ? 127.0f : y > -127 ? y : -127.0f;
  return code_of(k + 0x1.8p23f - 0x1.8p23f);
}

}  // namespace

extern constexpr FormatDef linear8_format = {
    .name = "linear8",
    .doc = "linear 8-bit code in flat blocks (bitsandbytes)",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 8,
    .max = 1,
    .defaults = {.granularity = Granularity::flat, .block = 256, .scale = &detail::f32},
    .options = kBlock,
    .planes = flat_planes,
    .decode_range = decode_range,
    .encode_all = encode_all,
    .decode1 = decode1,
    .encode1 = encode1,
};

}  // namespace dyadic::DY_ISA
