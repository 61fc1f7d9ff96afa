#include <cmath>
#include <vector>

#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

int64_t count(const Call& c) {
  double start = c.scalar(0).real(), end = c.scalar(1).real(), step = c.scalar(2).real();
  DY_CHECK_AS(ValueError,
              step != 0 && std::isfinite(start) && std::isfinite(end) && std::isfinite(step) && (end - start) / step > -1e-300,
              "arange: the step does not lead from start to end: start {}, end {}, step {}", start, end, step);
  return int64_t(std::ceil((end - start) / step));
}
void infer(Call& c) {
  int64_t n[] = {count(c)};
  infer_creation(c, n, 3, 4);
  bool real = false;
  for (int i = 0; i < 3; ++i) real |= c.scalar(i).kind() == Scalar::Kind::real;
  if (!c.has(3)) c.spec[0].dtype = real ? default_dtype() : i64;
}
void forward(Call& c) {
  int64_t n = c.out[0].numel();
  bool whole = compute_type(c.out[0].dtype()) == Compute::i64 || compute_type(c.out[0].dtype()) == Compute::i32;
  if (whole) {
    std::vector<int64_t> v(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) v[size_t(i)] = c.scalar(0).integer() + i * c.scalar(2).integer();
    assign(c.out[0], from_data(v.data(), {n}, i64));
    return;
  }
  std::vector<double> v(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) v[size_t(i)] = c.scalar(0).real() + double(i) * c.scalar(2).real();
  assign(c.out[0], from_data(v.data(), {n}, f64));
}

}  // namespace

extern constexpr OpDef arange_op = {
    .sig = "arange(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "start, start + step, ... below end: ceil((end - start) / step) values, computed in float64 or int64.",
    .infer = infer,
    .forward = forward,
};

}  // namespace dyadic::inline v1::ops
