#include <algorithm>
#include <complex>
#include <vector>

#include "ops/common.h"
#include "ops/create/ramp_kernel.h"

namespace dyadic::inline v1::ops::linspace_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c.integer(2) >= 0, "linspace: the number of steps is negative: steps is {}", c.integer(2));
  int64_t n[] = {c.integer(2)};
  infer_creation(c, n, 3, 4);
  if (c.scalar(0).kind() != Scalar::Kind::complex && c.scalar(1).kind() != Scalar::Kind::complex) return;
  if (!c.has(3)) c.spec[0].dtype = default_dtype().to_complex();
  DY_CHECK(c.spec[0].dtype.is_complex(), "linspace: an end is complex: dtype is {}; it may be c64 or c128",
           c.spec[0].dtype.name());
}
// From both ends, as below.
void between_complex(Call& c, std::complex<double> a, std::complex<double> b) {
  const int64_t steps = c.integer(2), half = steps == 1 ? 1 : steps / 2;
  const auto step = steps > 1 ? (b - a) / double(steps - 1) : 0;
  generate(c.out[0], c128, [&](int64_t begin, int64_t n, void* values) {
    auto* out = static_cast<std::complex<double>*>(values);
    for (int64_t i = begin; i < begin + n; ++i) *out++ = i < half ? a + step * double(i) : b - step * double(steps - 1 - i);
  });
}
void forward(Call& c) {
  if (c.scalar(0).imag() != 0 || c.scalar(1).imag() != 0)
    return between_complex(c, c.scalar(0).to<std::complex<double>>(), c.scalar(1).to<std::complex<double>>());
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
    .samples =
        "linspace(0, 1, 5)\nlinspace(3, -3, 1000, f64)\nlinspace(2, 5, 1)\nlinspace(0, 10, 4, i64)\nlinspace(0, 1, "
        "0)",
    .infer = infer,
    .forward = forward,
};

}  // namespace dyadic::inline v1::ops::linspace_op
