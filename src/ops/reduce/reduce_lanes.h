// Reading elements as lanes and writing results: what all loops of reductions stand on.
#pragma once
#include "loops/lanes.h"
#include "ops/reduce/reduce_kernel.h"

namespace dyadic::DY_ISA {

// Elements of x as lanes of type T, decoded tile by tile; integers widen from i32 to i64 where T asks for it.
template <class T> inline constexpr Compute kComputeOf = Compute::f32;
template <> inline constexpr Compute kComputeOf<double> = Compute::f64;
template <> inline constexpr Compute kComputeOf<int32_t> = Compute::i32;
template <> inline constexpr Compute kComputeOf<int64_t> = Compute::i64;
template <> inline constexpr Compute kComputeOf<uint64_t> = Compute::u64;

// Vectors of elements as they lie, or of bf16, whose bits are the upper half of a float's: decoded into a buffer first they
// took 0.33 ms where 8 MB are read in 0.2.
struct BFloat {
  uint16_t bits;
};
template <class D> DY_INLINE hn::Vec<D> load_lanes(D d, const hn::TFromD<D>* x) { return hn::LoadU(d, x); }
template <class D> DY_INLINE hn::Vec<D> load_lanes(D d, const BFloat* x) {
  constexpr hn::Rebind<uint16_t, D> narrow;
  constexpr hn::RebindToUnsigned<D> wide;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, reinterpret_cast<const uint16_t*>(x)))));
}
// The first n of them, the other lanes zero.
template <class D> DY_INLINE hn::Vec<D> load_lanes(D d, const hn::TFromD<D>* x, int64_t n) {
  using T = hn::TFromD<D>;
  if constexpr (HWY_TARGET <= HWY_AVX3 || (HWY_TARGET <= HWY_AVX2 && sizeof(T) >= 4)) {
    return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, x);  // masked-off lanes don't fault
  } else {
    alignas(64) T first[hn::MaxLanes(D())] = {};
    for (int64_t i = 0; i < n; i++) first[i] = x[i];
    return hn::Load(d, first);
  }
}
template <class D> DY_INLINE hn::Vec<D> load_lanes(D d, const BFloat* x, int64_t n) {
  constexpr hn::Rebind<uint16_t, D> narrow;
  constexpr hn::RebindToUnsigned<D> wide;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(wide, load_lanes(narrow, reinterpret_cast<const uint16_t*>(x), n))));
}

template <class T> struct Tiles {
  Source x;
  bool direct, widen, halves;  // halves: bf16

  explicit Tiles(Source source) : x(source) {
    const FormatDef& def = *x.format->def;
    // u64 is read as i64 too: sums and products wrap to the same bits.
    direct = x.format == &compute_format(kComputeOf<T>) || (def.compute == Compute::u64 && kComputeOf<T> == Compute::i64);
    widen = def.compute != kComputeOf<T>;
    halves = std::is_same_v<T, float> && def.bits == 16 && def.mantissa_bits == 7;
  }
  DY_INLINE const T* read(int64_t at, int64_t n, T* buffer) const {
    if (direct) return static_cast<const T*>(x.data) + at;
    if (!widen) {
      x.format->def->decode(element(x, at), buffer, n);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      const Tiles<int32_t> narrow(x);
      alignas(64) int32_t decoded[kSumBlock];
      const int32_t* from = narrow.read(at, n, decoded);
      constexpr hn::ScalableTag<int64_t> d;
      constexpr hn::Rebind<int32_t, hn::ScalableTag<int64_t>> half;
      constexpr int64_t kSize = hn::MaxLanes(d);
      int64_t i = 0;
      for (; i + kSize <= n; i += kSize) hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, from + i)), d, buffer + i);
      for (; i < n; i++) buffer[i] = from[i];
    }
    return buffer;
  }
  // `count` rows of `size` elements that lie `step` apart: in place, or decoded side by side, which makes that the step.
  DY_INLINE const T* read_rows(int64_t at, int64_t count, int64_t size, int64_t& step, T* buffer) const {
    if (direct || step == size) return read(at, count * size, buffer);
    for (int64_t r = 0; r < count; r++) read(at + r * step, size, buffer + r * size);
    step = size;
    return buffer;
  }
  // f(elements) with those from `at` on as they are best read: bf16 as it lies.
  template <class F> DY_INLINE auto with(int64_t at, int64_t n, T* buffer, F&& f) const {
    if constexpr (std::is_same_v<T, float>) {
      if (halves) return f(static_cast<const BFloat*>(x.data) + at);
    }
    return f(read(at, n, buffer));
  }
};

// Integers of one or two bytes are compared as they are stored.
template <class T>
  requires(sizeof(T) < 4)
struct Tiles<T> {
  Source x;

  explicit Tiles(Source source) : x(source) {}
  DY_INLINE const T* read(int64_t at, int64_t, T*) const { return static_cast<const T*>(x.data) + at; }
  DY_INLINE const T* read_rows(int64_t at, int64_t, int64_t, int64_t&, T*) const { return static_cast<const T*>(x.data) + at; }
  template <class F> DY_INLINE auto with(int64_t at, int64_t n, T* buffer, F&& f) const { return f(read(at, n, buffer)); }
};

// Results in the wide type of the operation, converted to the target's format as they leave.
template <class W> void write_results(Target y, int64_t at, int64_t n, const W* results) {
  convert(compute_format(kComputeOf<W>), results, *y.format, element(y, at), n);
}

template <class W> struct Steps {
  FunctionRef<W(int64_t at, int64_t n, int64_t first)> chunk;  // n elements, `first` of them before in their row
  // `outer` of [n, inner] that lie `step` apart, n <= kShortRow, kSumBlock elements at most
  FunctionRef<void(int64_t at, int64_t step, int64_t outer, int64_t n, int64_t inner, W* out)> short_rows;
  FunctionRef<void(int64_t at, int64_t row_step, int64_t rows, int64_t width, int64_t first, W* out)> slab;
  FunctionRef<void(W* into, const W* from, int64_t n)> merge;
  FunctionRef<void(int64_t at, int64_t n, W* values)> write;  // results [at, at + n), from combined values
  W* results = nullptr;                                       // where they leave to, if that is as they are

  DY_INLINE W* place(int64_t at, W* elsewhere) const { return results ? results + at : elsewhere; }
};

}  // namespace dyadic::DY_ISA
