#include <cmath>
#include <vector>

#include "ops/common.h"
#include "ops/create/ramp_kernel.h"

namespace dyadic::inline v1::ops::arange_op {
namespace {

int64_t count(const Call& c) {
  double start = c[arg::start].real(), end = c[arg::end].real(), step = c[arg::step].real();
  DY_CHECK(step != 0 && std::isfinite(start) && std::isfinite(end) && std::isfinite(step) && (end - start) / step > -1e-300,
           "arange: the step does not lead from start to end: start {}, end {}, step {}", start, end, step);
  bool whole = true;
  for (int i = 0; i < 3; ++i) whole = whole && c.scalar(i).kind() < Scalar::Kind::real;
  if (!whole) {
    const double n = std::ceil((end - start) / step);
    DY_CHECK_AS(ValueError, n < 0x1p59, "arange: too many elements: start {}, end {}, step {}", start, end, step);
    return int64_t(n);
  }
  const __int128 way = __int128(c[arg::end].integer()) - c[arg::start].integer(), each = c[arg::step].integer();
  const __int128 n = (way + each + (each > 0 ? -1 : 1)) / each;  // beyond 2^53 doubles would miss some
  DY_CHECK_AS(ValueError, n < int64_t(1) << 59, "arange: too many elements: start {}, end {}, step {}", start, end, step);
  return int64_t(n);
}
void infer(Call& c) {
  int64_t n[] = {count(c)};
  infer_creation(c, n, 3, 4);
  bool real = false;
  for (int i = 0; i < 3; ++i) {
    DY_CHECK_AS(TypeError, c.scalar(i).kind() != Scalar::Kind::complex, "arange: complex numbers have no order");
    real |= c.scalar(i).kind() == Scalar::Kind::real;
  }
  if (!c.has(arg::dtype)) c.spec[0].dtype = real ? default_dtype() : i64;
}
struct Ramp {
  Operand out;
  bool whole;  // in int64
  double start, step;
  int64_t whole_start, whole_step;
};
void run(const Ramp& p, const Pointers& at) {
  generate(at.output(0, p.out), p.whole ? i64 : f64, [&](int64_t begin, int64_t n, void* values) {
    if (p.whole)
      ramp_kernel().whole(p.whole_start, p.whole_step, begin, n, static_cast<int64_t*>(values));
    else
      ramp_kernel().real(p.start, p.step, begin, n, static_cast<double*>(values));
  });
}
void plan(Call& c) {
  const Operand out = c.result();
  const Scalar start = c[arg::start], step = c[arg::step];
  const bool whole = out.dtype().is_integer() || out.dtype() == boolean;
  c.plan.set<run>(Ramp{out, whole, start.real(), step.real(), start.integer(), step.integer()});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "arange(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "start, start + step, ... below end: ceil((end - start) / step) values, computed in float64 or int64.",
    .samples = "arange(0, 5)\narange(-1.5, 2, 0.25)\narange(5, 0, -2, bf16)\narange(0, 1000, 1, f64)\narange(3, 3)",
    .bad =
        "arange(-9223372036854775807, 9223372036854775807) => arange: too many elements: start -9.223372036854776e+18, end "
        "9.223372036854776e+18, step 1",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::arange_op
