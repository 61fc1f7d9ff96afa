// Elements one at a time, of operands that lie in any way in any format: what the plain kernels (the column `reference`) read
// and write. Slow, and with nothing in it that could be wrong.
#pragma once
#include <complex>

#include "formats/format.h"
#include "loops/stored.h"
#include "tensor/operand.h"

namespace dyadic::inline v1::ops {

template <class T> constexpr Compute compute_of = Compute::i64;
template <> inline constexpr Compute compute_of<float> = Compute::f32;
template <> inline constexpr Compute compute_of<double> = Compute::f64;
template <> inline constexpr Compute compute_of<std::complex<double>> = Compute::c128;

// f(T()) with the type that sums of such elements are made in: a float, as the element has it or wider, or i64.
template <class F> void with_plain_type(const Operand& o, F&& f) {
  switch (o.format->compute()) {
    case Compute::c64:
    case Compute::c128:
      return f(std::complex<double>());
    case Compute::f64:
      return f(double());
    case Compute::f32:
      return f(float());
    default:
      return f(int64_t());
  }
}

// The element that lies `index` elements behind the first.
template <class T> T plain_value(const Operand& o, const void* data, int64_t index) {
  const Stored stored{o.format, &compute_format(o.format->compute()), o.geometry};
  alignas(16) char one[16], wanted[16];
  read_stored(stored, data, o.offset + index, 1, 1, one);
  convert_compute(o.format->compute(), one, compute_of<T>, wanted, 1);
  return *reinterpret_cast<const T*>(wanted);
}
// Number `index` of a dense one.
template <class T> void write_plain(const Operand& o, void* data, int64_t index, T value) {
  convert(compute_format(compute_of<T>), &value, *o.format, static_cast<char*>(data) + index * o.itemsize(), 1);
}

// Where element number `index`, counted row by row, of a tensor of these sizes lies in one that is broadcast to them.
inline int64_t place_of(const Operand& o, IntList sizes, int64_t index) {
  int64_t at = 0;
  for (int64_t d = int64_t(sizes.size()), back = 1; d-- > 0; ++back) {
    const int64_t i = index % sizes[size_t(d)];
    index /= sizes[size_t(d)];
    if (back <= o.ndim && o.size(-back) != 1) at += i * o.stride(-back);
  }
  return at;
}

}  // namespace dyadic::inline v1::ops
