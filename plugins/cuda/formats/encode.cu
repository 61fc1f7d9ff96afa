// Blocked tensors from their values, with the arithmetic of src/formats/block: packed scalars, ggml's blocks, and which encoder
// is a format's.
#include "plugins/cuda/copies/saturate.h"
#include "plugins/cuda/formats/encode.h"

namespace dyadic::gpu {
namespace {

// ggml's blocks of 32, a thread each.

__device__ __forceinline__ float store_half(float x, uint8_t* p) {
  const uint16_t h = half_nearest(x);
  p[0] = uint8_t(h), p[1] = uint8_t(h >> 8);
  return half_value(h);
}
__device__ __forceinline__ void encode_q8_0(const float* x, float absmax, uint8_t* p) {
  const float d = absmax / 127, inverse = d != 0 ? 1.0f / d : 0.0f;
  if (!finite(absmax)) {
    store_half(absmax, p);
    for (int i = 0; i < 32; ++i) p[2 + i] = uint8_t(!infinite(x[i]) ? 0 : x[i] > 0 ? 127 : -127);
    return;
  }
  store_half(d, p);
  for (int i = 0; i < 32; ++i) {
    const float v = x[i] * inverse, size = fabsf(v);
    const int whole = finite(inverse) ? int(size) : 0, up = finite(inverse) && size - float(whole) >= 0.5f;
    p[2 + i] = uint8_t(float_bits(v) & kSignBit ? -(whole + up) : whole + up);
  }
}
__device__ __forceinline__ void encode_q4_0(const float* x, float absmax, uint8_t* p) {
  float most = 0;  // the first of the largest magnitude
  for (int i = 31; i >= 0; --i)
    if (absmax != 0 && fabsf(x[i]) == absmax) most = x[i];
  const bool sound = finite(absmax);
  const float d = sound ? most / -8 : absmax, inverse = d != 0 ? 1.0f / d : 0.0f;
  const auto code_of = [&](float v) {
    const int byte = truncate_i32(v * inverse + 8.5f) & 255;
    return sound ? byte < 15 ? byte : 15 : !infinite(v) ? 8 : v > 0 ? 15 : 0;
  };
  store_half(d, p);
  for (int i = 0; i < 16; ++i) p[2 + i] = uint8_t(code_of(x[i]) | code_of(x[16 + i]) << 4);
}
__constant__ float kMxSizes[8] = {0, 1, 2, 3, 4, 6, 8, 12};  // doubled
__device__ __forceinline__ void encode_mxfp4(const float* x, float absmax, uint8_t* p) {
  if (!finite(absmax)) {
    p[0] = 255;
    for (int i = 0; i < 16; ++i) p[1 + i] = 0;
    return;
  }
  const int exponent = absmax > 0 ? DY_ISA::mx_floor_log2(absmax) - 2 + 127 : 0, e = exponent < 0 ? 0 : exponent;
  const float d = DY_ISA::mx_half_scale(e);
  p[0] = uint8_t(e);
  for (int i = 0; i < 16; ++i) {
    int both = 0;
    for (int h = 0; h < 2; ++h) {
      const float v = x[i + 16 * h], size = fabsf(v);
      float least = size;
      int code = 0;
      for (int k = 1; k < 8; ++k) {
        const float error = fabsf(kMxSizes[k] * d - size);
        if (error < least) least = error, code = k;
      }
      both |= (v < 0 && code ? code | 8 : code) << (4 * h);
    }
    p[1 + i] = uint8_t(both);
  }
}
__global__ void __launch_bounds__(kEncodeThreads) encode_blocks(Layout layout, int64_t blocks, const float* in, uint8_t* at) {
  for (int64_t b = first_thread(); b < blocks; b += all_threads()) {
    const float* x = in + 32 * b;
    Largest m;
    for (int i = 0; i < 32; ++i) m.take(x[i]);
    const float absmax = bits_absmax(m.all);
    if (layout == Layout::q8_0)
      encode_q8_0(x, absmax, at + 34 * b);
    else if (layout == Layout::q4_0)
      encode_q4_0(x, absmax, at + 18 * b);
    else
      encode_mxfp4(x, absmax, at + 17 * b);
  }
}

// Packed scalars: eight codes are `bits` bytes.

__device__ __forceinline__ uint8_t small_code(Layout layout, float x, const Rounder& r) {
  switch (layout) {
    case Layout::packed_f6e2m3fn:
      return rounded<NarrowElement<MiniBits<DY_ISA::kF6e2m3fn>>>(x, r);
    case Layout::packed_f6e3m2fn:
      return rounded<NarrowElement<MiniBits<DY_ISA::kF6e3m2fn>>>(x, r);
    case Layout::packed_f4e2m1fn:
      return rounded<NarrowElement<MiniBits<DY_ISA::kF4e2m1fn>>>(x, r);
    default:
      return rounded<NarrowElement<MiniBits<DY_ISA::kF4e3m0>>>(x, r);
  }
}
template <class V>
__device__ __forceinline__ uint8_t packed_code(const Blocked& b, V x, double max, const Round& r, uint64_t i) {
  if (b.layout != Layout::packed_integer)
    return small_code(b.layout, narrowed(r.overflow == Overflow::saturate ? clamped(x, max) : x), Rounder(r, i));
  const uint32_t mask = (1u << b.bits) - 1;
  if (r.overflow != Overflow::saturate) return uint8_t(number<uint8_t>(x) & mask);
  const int64_t high = b.is_signed ? mask >> 1 : mask, low = b.is_signed ? -high - 1 : 0;
  if constexpr (is_parts<V>) {
    return packed_code(b, x.re, max, r, i);
  } else if constexpr (std::is_floating_point_v<V>) {
    return x != x ? 0 : uint8_t((x >= V(high) ? high : x <= V(low) ? low : int64_t(x)) & mask);
  } else {
    const bool above = std::is_same_v<V, uint64_t> ? uint64_t(x) > uint64_t(high) : int64_t(x) > high;
    return uint8_t((above ? high : int64_t(x) < low && !std::is_same_v<V, uint64_t> ? low : int64_t(x)) & mask);
  }
}
template <class V>
__global__ void __launch_bounds__(kEncodeThreads)
    encode_packed(Blocked b, int64_t numel, double max, Code from, const void* in, Round r, uint8_t* out) {
  for (int64_t t = first_thread(); t * kEight < numel; t += all_threads()) {
    const int64_t first = t * kEight;
    const int count = int(numel - first < kEight ? numel - first : kEight);
    uint64_t codes = 0;
    for (int k = 0; k < count; ++k)
      codes |= uint64_t(packed_code(b, load<V>(from, in, first + k), max, r, uint64_t(first + k))) << (b.bits * k);
    write_codes(codes, count, b.bits, out + t * b.bits);
  }
}

bool is_flat(Layout l) { return l >= Layout::nf4 && l <= Layout::udynamic8; }

}  // namespace

int64_t encode_room(const Format& f, const Blocked& b) {
  if (!f.is_scaled()) return b.layout == Layout::none ? -1 : 0;
  if (is_flat(b.layout)) return flat_room(b);
  switch (b.layout) {
    case Layout::q8_0:
    case Layout::q4_0:
    case Layout::mxfp4:
      return 0;
    case Layout::int_group:
    case Layout::group_f8e4m3fn:
    case Layout::group_f8e5m2:
    case Layout::group_f6e2m3fn:
    case Layout::group_f6e3m2fn:
    case Layout::group_f4e2m1fn:
    case Layout::group_mxint8:
      return sizeof(Largest);
    default:
      return -1;
  }
}

void encode(const Format& f, const Blocked& b, Code from, const void* values, void* storage, const Round& round,
            void* workspace) {
  const int64_t numel = b.rows * b.cols.by;
  auto* at = static_cast<uint8_t*>(storage);
  const auto* in = static_cast<const float*>(values);
  if (numel == 0) return;
  if (!f.is_scaled()) {
    return with_value(from, [&](auto value) {
      launch(encode_packed<decltype(value)>, grid_for(numel, kEight, kEncodeThreads), b, numel, f.def->max, from, values, round,
             at);
    });
  }
  if (is_flat(b.layout)) return encode_flat(b, in, at, workspace);
  if (b.layout < Layout::q4_0) return encode_groups(b, in, at, workspace);
  launch(encode_blocks, grid_for(numel / 32, 1, kEncodeThreads), b.layout, numel / 32, in, at);
}

}  // namespace dyadic::gpu
