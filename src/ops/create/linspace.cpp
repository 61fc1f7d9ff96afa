#include <algorithm>
#include <vector>

#include "ops/common.h"
#include "ops/create/ramp_kernel.h"

namespace dyadic::inline v1::ops::linspace_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c.integer(2) >= 0, "linspace: the number of steps is negative: steps is {}", c.integer(2));
  int64_t n[] = {c.integer(2)};
  infer_creation(c, n, 3, 4);
}
void forward(Call& c) {
  const int64_t steps = c.integer(2);
  const double a = c.scalar(0).real(), b = c.scalar(1).real(), step = steps > 1 ? (b - a) / double(steps - 1) : 0;
  generate(c.out[0], f64, [&](int64_t begin, int64_t n, void* values) {
    auto* out = static_cast<double*>(values);
    const int64_t half = steps == 1 ? 1 : steps / 2, rising = std::clamp<int64_t>(half - begin, 0, n);
    ramp_kernel().real(a, step, begin, rising, out);
    ramp_kernel().real(b, step, begin + rising - (steps - 1), n - rising, out + rising);
  });
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "steps values from start to end, both included, symmetric about the middle.",
    .samples = "linspace(0, 1, 5)\nlinspace(3, -3, 1000, f64)\nlinspace(2, 5, 1)\nlinspace(0, 10, 4, i64)\nlinspace(0, 1, 0)",
    .infer = infer,
    .forward = forward,
};

}  // namespace dyadic::inline v1::ops::linspace_op
