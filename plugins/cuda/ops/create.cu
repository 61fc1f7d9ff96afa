// Tensors made of numbers: constants, ramps, the identity.
#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/kernel.h"

namespace dyadic::gpu {
namespace {

void run_filling(const Filling& p, const Pointers& at) { p.run(at.out[0]); }
Filling filling_of(const Operand& out, const Scalar& value) {
  alignas(16) char stored[16];
  encode_number(value, out.format, stored);
  return plan_filling(out, stored);
}
void plan_fill(Call& c, const Scalar& value) { c.plan.set<run_filling>(filling_of(c.result(), value)); }
void plan_zeros(Call& c) { plan_fill(c, Scalar(0)); }
void plan_ones(Call& c) { plan_fill(c, Scalar(1)); }
void plan_full(Call& c) { plan_fill(c, c[ops::full_op::arg::fill_value]); }
void plan_full_like(Call& c) { plan_fill(c, c[ops::full_like_op::arg::fill_value]); }
void plan_empty(Call&) {}  // nothing to run

struct Eye {
  Filling zeros, ones;
};
void run_eye(const Eye& p, const Pointers& at) {
  p.zeros.run(at.out[0]);
  p.ones.run(at.out[0]);
}
void plan_eye(Call& c) {
  const Operand out = c.result();
  Operand diagonal = out;
  diagonal.ndim = 1;
  diagonal.lengths[0] = diagonal.count = out.lengths[0] < out.lengths[1] ? out.lengths[0] : out.lengths[1];
  diagonal.steps[0] = out.steps[0] + out.steps[1];
  c.plan.set<run_eye>(Eye{filling_of(out, Scalar(0)), filling_of(diagonal, Scalar(1))});
}

// Ramps: dense results, computed in i64, f64 or c128 and rounded once.

struct WholeRamp {
  int64_t start, step;
};
struct RealRamp {
  double start, step;
};
struct Line {  // from both ends, which of integers are whole
  int64_t steps, half;
  Parts<double> first, last, step;
};
__device__ __forceinline__ int64_t value_at(const WholeRamp& p, int64_t i) {
  return int64_t(uint64_t(p.start) + uint64_t(i) * uint64_t(p.step));
}
__device__ __forceinline__ double value_at(const RealRamp& p, int64_t i) { return p.start + double(i) * p.step; }
__device__ __forceinline__ Parts<double> value_at(const Line& p, int64_t i) {
  const bool rising = i < p.half;
  const double n = double(rising ? i : i - (p.steps - 1));
  const Parts<double>& from = rising ? p.first : p.last;
  return {from.re + n * p.step.re, from.im + n * p.step.im};
}
template <class P> struct Made {
  Code code;
  int64_t count;
  P values;
};
template <class P> __global__ void __launch_bounds__(256) make_values(Made<P> p, void* out) {
  for (int64_t i = first_thread(); i < p.count; i += all_threads()) store(p.code, out, i, value_at(p.values, i));
}
template <class P> void run_made(const Made<P>& p, const Pointers& at) {
  if (p.count) launch(make_values<P>, grid_for(p.count, 1, 256), p, at.out[0]);
}
template <class P> void plan_made(Call& c, const P& values) {
  const Operand out = c.result();
  c.plan.set<run_made<P>>(Made<P>{code_of(out.format), out.count, values});
}
bool is_whole(const Format* f) { return f->def->kind != Kind::floating && f->def->kind != Kind::complex; }

void plan_arange(Call& c) {
  namespace arg = ops::arange_op::arg;
  const Scalar start = c[arg::start], step = c[arg::step];
  if (is_whole(c.result().format))
    plan_made(c, WholeRamp{start.integer(), step.integer()});
  else
    plan_made(c, RealRamp{start.real(), step.real()});
}
void plan_linspace(Call& c) {
  namespace arg = ops::linspace_op::arg;
  const Scalar a = c[arg::start], b = c[arg::end];
  const int64_t steps = c[arg::steps];
  const bool whole = is_whole(c.result().format);
  const auto end = [&](double x) { return whole ? double(int64_t(x)) : x; };
  Line p{steps, steps == 1 ? 1 : steps / 2, {end(a.real()), a.imag()}, {end(b.real()), b.imag()}, {0, 0}};
  if (steps > 1) p.step = {(p.last.re - p.first.re) / double(steps - 1), (p.last.im - p.first.im) / double(steps - 1)};
  plan_made(c, p);
}

constexpr uint16_t kReadsNothing = in(0);  // of what is given only the shape counts

const Registered zeros{"zeros", {.plan = plan_zeros}}, ones{"ones", {.plan = plan_ones}}, full{"full", {.plan = plan_full}};
const Registered zeros_like{"zeros_like", {.plan = plan_zeros, .blocked = kReadsNothing}};
const Registered ones_like{"ones_like", {.plan = plan_ones, .blocked = kReadsNothing}};
const Registered full_like{"full_like", {.plan = plan_full_like, .blocked = kReadsNothing}};
const Registered empty{"empty", {.plan = plan_empty, .blocked = out(0)}};
const Registered empty_like{"empty_like", {.plan = plan_empty, .blocked = kReadsNothing | out(0)}};
const Registered eye{"eye", {.plan = plan_eye}};
const Registered arange{"arange", {.plan = plan_arange}}, linspace{"linspace", {.plan = plan_linspace}};

}  // namespace
}  // namespace dyadic::gpu
