#include <vector>

#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

void infer(Call& c) {
  DY_CHECK(c.integer(2) >= 0, "linspace: the number of steps is negative: steps is {}", c.integer(2));
  int64_t n[] = {c.integer(2)};
  infer_creation(c, n, 3, 4);
}
void forward(Call& c) {
  int64_t n = c.integer(2);
  double a = c.scalar(0).real(), b = c.scalar(1).real(), step = n > 1 ? (b - a) / double(n - 1) : 0;
  std::vector<double> v(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) v[size_t(i)] = i < n / 2 ? a + double(i) * step : b - double(n - 1 - i) * step;
  if (n == 1) v[0] = a;
  assign(c.out[0], from_data(v.data(), {n}, f64));
}

}  // namespace

extern constexpr OpDef linspace_op = {
    .sig = "linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "steps values from start to end, both included, symmetric about the middle.",
    .infer = infer,
    .forward = forward,
};

}  // namespace dyadic::inline v1::ops
