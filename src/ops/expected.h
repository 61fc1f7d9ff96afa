// Operands that the library itself passes from forward to a gradient's kernel. They can be passed by hand, too, and a kernel
// that trusted them would read beyond their ends.
#pragma once
#include "dyadic/finfo.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops {

// Argument i, if given, has these sizes, and this dtype where one is named.
inline void expect_operand(const Call& c, int i, const char* name, IntList sizes, DType dtype = DType()) {
  if (!c.has(i)) return;
  const Tensor& t = c.tensor(i);
  DY_CHECK(t.sizes() == sizes, "{}: the sizes do not fit: {} is {}, {} is needed", c.name, name, describe(t),
           shape_text(sizes));
  DY_CHECK_AS(TypeError, !dtype || plain(t) == dtype, "{}: the dtypes do not fit: {} is {}, {} is needed", c.name, name,
              describe(t), dtype.name());
}
inline void expect_operand(const Call& c, int i, const char* name, std::initializer_list<int64_t> sizes,
                           DType dtype = DType()) {
  expect_operand(c, i, name, IntList(sizes.begin(), sizes.size()), dtype);
}
// A number that is written into a tensor of this dtype: not a complex one into real numbers, nor an integer beyond what it
// holds.
inline void expect_number(const char* who, Scalar value, DType dtype) {
  DY_CHECK(dtype.is_complex() || value.kind() != Scalar::Kind::complex, "{}: a complex number in {}: it is {}+{}j", who,
           dtype.name(), value.real(), value.imag());
  if (dtype.is_floating_point() || dtype.is_complex() || dtype.is_scaled() || dtype == boolean || dtype.bits() > 32) return;
  const IInfo limits = iinfo(dtype);
  const double v = value.real(), most = double(limits.max) + 1;  // unsigned dtypes take negative numbers, which wrap
  DY_CHECK(v < most && (limits.min ? v >= double(limits.min) : v > -most), "{}: {} holds no such number: it is {}", who,
           dtype.name(), v);
}
// Numbers of rows.
inline void expect_indices(const char* who, const int64_t* p, int64_t n, int64_t rows, int64_t ignored = 0) {
  for (int64_t i = 0; i < n; ++i)
    DY_CHECK_AS(IndexError, (p[i] >= 0 && p[i] < rows) || p[i] == ignored,
                "{}: index out of range: index {} at position {}; there are {} rows", who, p[i], i, rows);
}

}  // namespace dyadic::inline v1::ops
