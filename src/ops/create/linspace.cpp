#include <algorithm>
#include <cmath>
#include <complex>

#include "ops/common.h"
#include "ops/create/ramp_kernel.h"

namespace dyadic::inline v1::ops::linspace_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c[arg::steps] >= 0, "linspace: the number of steps is negative: steps is {}", c[arg::steps]);
  int64_t n[] = {c[arg::steps]};
  infer_creation(c, n, 3, 4);
  if (c[arg::start].kind() != Scalar::Kind::complex && c[arg::end].kind() != Scalar::Kind::complex) return;
  if (!c.has(arg::dtype)) c.spec[0].dtype = default_dtype().to_complex();
  DY_CHECK(c.spec[0].dtype.is_complex(), "linspace: an end is complex: dtype is {}; it may be c64 or c128",
           c.spec[0].dtype.name());
}
// From both ends, which of integers are whole.
struct Ends {
  Operand out;
  bool complex;
  int64_t steps;
  double first[2], last[2];  // real and imaginary parts
};
void between(const Ends& p, const Array& out) {
  const double a = p.first[0], b = p.last[0], step = p.steps > 1 ? (b - a) / double(p.steps - 1) : 0;
  generate(out, f64, [&](int64_t begin, int64_t n, void* values) {
    auto* to = static_cast<double*>(values);
    const int64_t half = p.steps == 1 ? 1 : p.steps / 2, rising = std::clamp<int64_t>(half - begin, 0, n);
    ramp_kernel().real(a, step, begin, rising, to);
    ramp_kernel().real(b, step, begin + rising - (p.steps - 1), n - rising, to + rising);
  });
}
void between_complex(const Ends& p, const Array& out) {
  const std::complex<double> a(p.first[0], p.first[1]), b(p.last[0], p.last[1]);
  const int64_t half = p.steps == 1 ? 1 : p.steps / 2;
  const auto step = p.steps > 1 ? (b - a) / double(p.steps - 1) : 0;
  generate(out, c128, [&](int64_t begin, int64_t n, void* values) {
    auto* to = static_cast<std::complex<double>*>(values);
    for (int64_t i = begin; i < begin + n; ++i) *to++ = i < half ? a + step * double(i) : b - step * double(p.steps - 1 - i);
  });
}
void run(const Ends& p, const Pointers& at) { (p.complex ? between_complex : between)(p, at.output(0, p.out)); }
void plan(Call& c) {
  const Scalar a = c[arg::start], b = c[arg::end];
  const bool complex = a.imag() != 0 || b.imag() != 0;
  const auto end = [&](double x) { return c.spec[0].dtype.is_integer() ? std::trunc(x) : x; };
  c.plan.set<run>(Ends{c.result(), complex, c[arg::steps], {end(a.real()), a.imag()}, {end(b.real()), b.imag()}});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "steps values from start to end, both included, symmetric about the middle.",
    .samples =
        "linspace(0, 1, 5)\nlinspace(3, -3, 1000, f64)\nlinspace(2, 5, 1)\nlinspace(0, 10, 4, i64)\nlinspace(0, 1, "
        "0)",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::linspace_op
