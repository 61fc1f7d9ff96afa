// Integers and small floats with a scale per group, row, tile or tensor, encoded.
#include "plugins/cuda/formats/encode.h"

namespace dyadic::gpu {
namespace {

__global__ void __launch_bounds__(kEncodeThreads) clear_largest(Largest* best) {
  if (first_thread() == 0) *best = Largest{};
}
__global__ void __launch_bounds__(kEncodeThreads) find_largest(const float* in, int64_t n, Largest* best) {
  Largest mine;
  for (int64_t i = first_thread(); i < n; i += all_threads()) mine.take(in[i]);
  mine.join();
  if (threadIdx.x % 32 != 0) return;
  atomicMax(&best->all, mine.all), atomicMax(&best->up, mine.up);
  atomicMax(&best->down, mine.down), atomicMax(&best->finite, mine.finite);
}

__device__ __forceinline__ float scale_rounded(Code code, float scale) {
  return code == Code::f16 ? half_value(half_nearest(scale)) : code == Code::bf16 ? bf16_value(brain_nearest(scale)) : scale;
}
__device__ __forceinline__ void store_scale(const Blocked& b, uint8_t* at, int64_t i, float scale) {
  switch (b.scale) {
    case Code::f16:
      reinterpret_cast<uint16_t*>(at + b.scales)[i] = half_nearest(scale);
      return;
    case Code::bf16:
      reinterpret_cast<uint16_t*>(at + b.scales)[i] = brain_nearest(scale);
      return;
    case Code::f8e8m0fnu:
      at[b.scales + i] = DY_ISA::e8m0_code(scale);
      return;
    case Code::f8e4m3fn:
      at[b.scales + i] = ElementOf<Code::f8e4m3fn>::stored(scale, Overflow::saturate);
      return;
    default:
      reinterpret_cast<float*>(at + b.scales)[i] = scale;
  }
}
__device__ __forceinline__ float load_scale(const Blocked& b, const uint8_t* at, int64_t i) {
  switch (b.scale) {
    case Code::f16:
      return half_value(reinterpret_cast<const uint16_t*>(at + b.scales)[i]);
    case Code::bf16:
      return bf16_value(reinterpret_cast<const uint16_t*>(at + b.scales)[i]);
    case Code::f8e8m0fnu:
      return DY_ISA::e8m0_value(at[b.scales + i]);
    case Code::f8e4m3fn:
      return ElementOf<Code::f8e4m3fn>::value(at[b.scales + i]);
    default:
      return reinterpret_cast<const float*>(at + b.scales)[i];
  }
}

// A format's element: measure() gives what is stored of a group's largest magnitudes, code() an element's code.
template <int kBits> struct IntElement {
  static constexpr int kWidth = kBits, kLow = -(1 << (kBits - 1)), kHigh = -kLow - 1;
  static __device__ __forceinline__ void measure(const Blocked& b, const Largest& m, float, uint8_t* at, int64_t s) {
    const float absmax = bits_absmax(m.all);
    float scale;
    int zero = 0;
    if (b.zeros < 0 || !finite(absmax)) {
      scale = scale_rounded(b.scale, absmax / kHigh);
    } else {
      const float least = -bits_float(m.down), most = bits_float(m.up);
      scale = scale_rounded(b.scale, (most * 0.5f - least * 0.5f) / ((kHigh - kLow) * 0.5f));
      if (scale > 0 && finite(scale)) {
        const float place = float(kLow) - (scale < kTiny ? least * kLift / (scale * kLift) : least / scale);
        zero = int(nearest_whole(place < kLow ? float(kLow) : place > kHigh ? float(kHigh) : place));
      }
    }
    store_scale(b, at, s, scale);
    if (b.zeros >= 0) reinterpret_cast<int8_t*>(at + b.zeros)[s] = int8_t(zero);
  }
  static __device__ __forceinline__ uint8_t code(const Blocked& b, const uint8_t* at, int64_t s, float, float x) {
    constexpr int mask = (1 << kBits) - 1;
    const float scale = load_scale(b, at, s);
    const int zero = b.zeros < 0 ? 0 : reinterpret_cast<const int8_t*>(at + b.zeros)[s], lowest = b.zeros < 0 ? -kHigh : kLow;
    if (!(scale > 0) || !finite(scale)) return uint8_t((!infinite(x) ? zero : x > 0 ? kHigh : lowest) & mask);
    const bool tiny = scale < kTiny;
    const int whole = int(nearest_whole((tiny ? x * kLift : x) * (1.0f / (tiny ? scale * kLift : scale)))) + zero;
    return uint8_t((whole < lowest ? lowest : whole > kHigh ? kHigh : whole) & mask);
  }
};
template <DY_ISA::Mini M> struct FloatElement {
  using Float = DY_ISA::MiniFloat<M>;
  static constexpr int kWidth = Float::kBits;
  static constexpr float kLargest = Float::value(uint8_t(Float::kLargest));
  static __device__ __forceinline__ uint8_t nearest(float x) { return Float::nearest(x, Float::kLargest); }
};
struct SixtyFourths {
  static constexpr int kWidth = 8;
  static constexpr float kLargest = 127.0f / 64;
  static __device__ __forceinline__ uint8_t nearest(float x) {
    const float y = x * 64, whole = y > 127 ? 127.0f : y > -127 ? y : -127.0f;
    return uint8_t(int32_t(nearest_whole(whole)));
  }
};
template <class E> struct ScaledElement : E {
  static constexpr int32_t kTop = int32_t(float_bits(E::kLargest) >> 23);
  static __device__ __forceinline__ void measure(const Blocked& b, const Largest& m, float whole, uint8_t* at, int64_t s) {
    const float absmax = bits_absmax(m.all);
    float scale = absmax / E::kLargest;
    if (b.scale == Code::f8e8m0fnu) {
      const int32_t exponent = int32_t(float_bits(absmax) >> 23) - kTop + 127;  // biased; subnormals fall below 0
      scale = DY_ISA::e8m0_value(!finite(absmax) ? 255 : uint8_t(exponent < 0 ? 0 : exponent));
    } else if (b.scale == Code::f8e4m3fn) {
      scale = !finite(absmax) ? kNaN : whole > 0 ? absmax / E::kLargest / whole : 0.0f;
    }
    store_scale(b, at, s, scale);
  }
  static __device__ __forceinline__ uint8_t code(const Blocked& b, const uint8_t* at, int64_t s, float whole, float x) {
    const float scale = b.whole < 0 ? load_scale(b, at, s) : load_scale(b, at, s) * whole;
    if (infinite(scale) && scale > 0) return infinite(x) ? E::nearest(x) : 0;
    const bool positive = scale > 0, tiny = positive && scale < kTiny;
    const float lift = tiny ? kLift : 1.0f, inverse = positive ? 1.0f / (scale * lift) : scale == 0 ? 0.0f : kNaN;
    return E::nearest(x * lift * inverse);
  }
};

template <class E> __global__ void find_whole(Blocked b, const Largest* best, uint8_t* at) {
  if constexpr (requires { E::kLargest; })
    *reinterpret_cast<float*>(at + b.whole) = bits_float(best->finite) / (E::kLargest * 448.0f);
}
__device__ __forceinline__ float whole_of(const Blocked& b, const uint8_t* at) {
  return b.whole < 0 ? 1.0f : *reinterpret_cast<const float*>(at + b.whole);
}
template <class E>
__global__ void __launch_bounds__(kEncodeThreads) measure_groups(Blocked b, const Largest* best, const float* in, uint8_t* at) {
  const float whole = whole_of(b, at);
  if (b.is_tensor) {
    if (first_thread() == 0) E::measure(b, *best, whole, at, 0);
    return;
  }
  const int64_t units = (b.rows + b.band - 1) / b.band * b.groups, cols = b.cols.by;
  for (int64_t u = first_warp(); u < units; u += all_warps()) {
    const int64_t top = u / b.groups * b.band, first = u % b.groups * b.block.by;
    const int64_t n = first + b.block.by < cols ? b.block.by : cols - first,
                  rows = top + b.band < b.rows ? b.band : b.rows - top;
    const Largest m = largest_of(in + top * cols + first, n, rows, cols);
    if (threadIdx.x % 32 == 0) E::measure(b, m, whole, at, u);
  }
}
template <class E> __global__ void __launch_bounds__(kEncodeThreads) encode_codes(Blocked b, const float* in, uint8_t* at) {
  const int64_t cols = b.cols.by, each = (cols + kEight - 1) / kEight;
  const float whole = whole_of(b, at);
  for (int64_t t = first_thread(); t < b.rows * each; t += all_threads()) {
    const int64_t row = t / each, first = t % each * kEight;
    const int count = int(cols - first < kEight ? cols - first : kEight);
    uint64_t codes = 0;
    for (int k = 0; k < count; ++k) {
      const int64_t s = b.scales_per_row ? row / b.band * b.scales_per_row + b.block.divide(first + k) : 0;
      codes |= uint64_t(E::code(b, at, s, whole, in[row * cols + first + k])) << (E::kWidth * k);
    }
    write_codes(codes, count, E::kWidth, at + b.codes + row * b.pitch + first * E::kWidth / 8);
  }
}

template <class E> void encode_as(const Blocked& b, const float* in, uint8_t* at, Largest* best) {
  const int64_t numel = b.rows * b.cols.by;
  if (b.is_tensor || b.whole >= 0) {
    launch(clear_largest, Grid{1, 32}, best);
    launch(find_largest, grid_for(numel, 16, kEncodeThreads), in, numel, best);
  }
  if (b.whole >= 0) launch(find_whole<E>, Grid{1, 1}, b, best, at);
  const int64_t units = b.is_tensor ? 1 : (b.rows + b.band - 1) / b.band * b.groups;
  launch(measure_groups<E>, grid_for(units * 32, 1, kEncodeThreads), b, best, in, at);
  launch(encode_codes<E>, grid_for(b.rows * ((b.cols.by + kEight - 1) / kEight), 1, kEncodeThreads), b, in, at);
}

}  // namespace

void encode_groups(const Blocked& b, const float* in, uint8_t* at, void* workspace) {
  auto* best = static_cast<Largest*>(workspace);
  switch (b.layout) {
    case Layout::int_group:
      return b.bits == 8   ? encode_as<IntElement<8>>(b, in, at, best)
             : b.bits == 4 ? encode_as<IntElement<4>>(b, in, at, best)
             : b.bits == 3 ? encode_as<IntElement<3>>(b, in, at, best)
                           : encode_as<IntElement<2>>(b, in, at, best);
    case Layout::group_f8e4m3fn:
      return encode_as<ScaledElement<FloatElement<DY_ISA::kF8e4m3fn>>>(b, in, at, best);
    case Layout::group_f8e5m2:
      return encode_as<ScaledElement<FloatElement<DY_ISA::kF8e5m2>>>(b, in, at, best);
    case Layout::group_f6e2m3fn:
      return encode_as<ScaledElement<FloatElement<DY_ISA::kF6e2m3fn>>>(b, in, at, best);
    case Layout::group_f6e3m2fn:
      return encode_as<ScaledElement<FloatElement<DY_ISA::kF6e3m2fn>>>(b, in, at, best);
    case Layout::group_f4e2m1fn:
      return encode_as<ScaledElement<FloatElement<DY_ISA::kF4e2m1fn>>>(b, in, at, best);
    default:
      return encode_as<ScaledElement<SixtyFourths>>(b, in, at, best);
  }
}

}  // namespace dyadic::gpu
