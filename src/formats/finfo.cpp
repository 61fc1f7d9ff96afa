#include "dyadic/finfo.h"

#include <cmath>

#include "base/check.h"
#include "formats/format.h"

namespace dyadic::inline v1 {

FInfo finfo(DType dtype) {
  dtype = dtype.to_real();
  DY_CHECK_AS(TypeError, dtype.is_floating_point(), "finfo: {} is not a floating-point dtype; use iinfo for integers",
              dtype.name());
  const Format& f = *dtype.format();
  const FormatDef& d = *f.def;
  FInfo i{.dtype = dtype, .bits = d.bits};
  const auto rounded = [&](double x) { return d.decode1(f, d.encode1(f, x)); };
  i.digits = int(d.mantissa_bits * 0.30102999566398120);  // log10(2), as digits10 of C++
  i.resolution = std::pow(10.0, -i.digits);
  if (d.bits <= 8) i.resolution = rounded(i.resolution);
  i.max = d.max;
  i.min = rounded(-1) < 0 ? -d.max : d.min_normal;
  i.eps = d.eps;
  i.smallest_normal = d.min_normal;
  i.smallest_subnormal = d.min_subnormal;
  return i;
}

std::string FInfo::str() const {
  return fmt::format("finfo(resolution={:g}, min={:g}, max={:g}, eps={:g}, smallest_normal={:g}, tiny={:g}, dtype={})",
                     resolution, min, max, eps, smallest_normal, smallest_normal, dtype.long_name());
}

IInfo iinfo(DType dtype) {
  DY_CHECK_AS(TypeError, dtype.is_integer(), "iinfo: {} is not an integer dtype; use finfo for floats", dtype.name());
  const FormatDef& d = *dtype.format()->def;
  const bool is_signed = d.kind == Kind::sint;
  const uint64_t max = ~uint64_t{0} >> (64 - d.bits + is_signed);
  return {dtype, d.bits, is_signed ? -int64_t(max) - 1 : 0, max};
}

std::string IInfo::str() const {
  return fmt::format("iinfo(min={:g}, max={:g}, dtype={})", double(min), double(max), dtype.long_name());
}

}  // namespace dyadic::inline v1
