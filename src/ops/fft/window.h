// What the window functions share: values of a formula in x = k / n, from 0 to 1.
#pragma once
#include <numbers>

#include "ops/common.h"

namespace dyadic::inline v1::ops {

struct WindowCall {
  int64_t length;
  bool periodic;
  DType dtype;
  Device device;

  // (window_length, periodic, ..., dtype, device): dtype is argument `at`.
  WindowCall(const char* who, Args a, int at)
      : length(a[0].integer),
        periodic(a[1].boolean),
        dtype(a[at].kind == Arg::Kind::none ? default_dtype() : a[at].dtype),
        device(a[at + 1].kind == Arg::Kind::none ? cpu : a[at + 1].device) {
    DY_CHECK(length >= 0, "{}: a negative length: window_length is {}", who, length);
    DY_CHECK_AS(TypeError, dtype.is_floating_point(), "{}: needs a floating-point dtype: dtype is {}", who, dtype.name());
  }
  // Computed in f64, rounded once.
  Tensor made(FunctionRef<Tensor(const Tensor& x)> formula) const {
    if (length < 2) return ones({length}, dtype, device);
    const double n = double(periodic ? length : length - 1);
    return to(formula(div(arange(0, length, 1, f64, device), n)), dtype);
  }
};

}  // namespace dyadic::inline v1::ops
