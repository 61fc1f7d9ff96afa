#include <cmath>
#include <vector>

#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

int64_t count(const Call& c) {
  double start = c.scalar(0).real(), end = c.scalar(1).real(), step = c.scalar(2).real();
  DY_CHECK(step != 0 && std::isfinite(start) && std::isfinite(end) && std::isfinite(step) && (end - start) / step > -1e-300,
           "arange: the step does not lead from start to end: start {}, end {}, step {}", start, end, step);
  return int64_t(std::ceil((end - start) / step));
}
void infer(Call& c) {
  int64_t n[] = {count(c)};
  infer_creation(c, n, 3, 4);
  bool real = false;
  for (int i = 0; i < 3; ++i) {
    DY_CHECK_AS(TypeError, c.scalar(i).kind() != Scalar::Kind::complex, "arange: complex numbers have no order");
    real |= c.scalar(i).kind() == Scalar::Kind::real;
  }
  if (!c.has(3)) c.spec[0].dtype = real ? default_dtype() : i64;
}
void forward(Call& c) {
  const bool whole = c.out[0].dtype().is_integer() || c.out[0].dtype() == boolean;
  const Scalar start = c.scalar(0), step = c.scalar(2);
  generate(c.out[0], whole ? i64 : f64, [&](int64_t begin, int64_t n, void* values) {
    for (int64_t i = 0; i < n; ++i) {
      if (whole)
        static_cast<int64_t*>(values)[i] = start.integer() + (begin + i) * step.integer();
      else
        static_cast<double*>(values)[i] = start.real() + double(begin + i) * step.real();
    }
  });
}

}  // namespace

extern constexpr OpDef arange_op = {
    .sig = "arange(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "start, start + step, ... below end: ceil((end - start) / step) values, computed in float64 or int64.",
    .samples = "arange(0, 5)\narange(-1.5, 2, 0.25)\narange(5, 0, -2, bf16)\narange(0, 1000, 1, f64)\narange(3, 3)",
    .infer = infer,
    .forward = forward,
};

}  // namespace dyadic::inline v1::ops
