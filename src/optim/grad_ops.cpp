#include "optim/grad_ops.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "corridor/made_ops.h"
#include "dyadic/ops.h"
#include "optim/adamw_kernel.h"

namespace dyadic::inline v1::optim {
namespace {

struct Params {
  const Format* format;
  int64_t n;
};
void run_squares(const Params& p, const Pointers& at) {
  *static_cast<double*>(at.out[0]) = adamw_kernel().sum_squares({at.in[0], p.format}, p.n);
}
void run_unscale(const Params& p, const Pointers& at) {
  const double factor = *static_cast<const double*>(at.in[1]);
  *static_cast<double*>(at.out[0]) = adamw_kernel().unscale({at.in[0], p.format}, p.n, factor);
}
template <auto kRun> void plan(Call& c) { c.plan.set<kRun>(Params{c.tensor(0).dtype().format(), c.tensor(0).numel()}); }
void infer(Call& c) {
  c.spec[0].dtype = f64;
  c.spec[0].device = c.tensor(0).device();
  c.spec[0].shape({1});
}

Op make_op(const char* name, const char* sig, const char* doc, const Kernel& kernel, double (*flops)(const Call&),
           uint16_t writes, void (*rule)(Call&) = infer) {
  auto op = std::make_unique<MadeOp>();
  op->name = name, op->sig = sig, op->doc = doc;
  op->def.infer = rule;
  op->def.flops = flops;
  op->def.writes = writes;
  std::fill_n(op->kernel, int(Column::reference), &kernel);  // the instruction sets'
  return add_op(std::move(op));
}

// Formats that the kernels read as they lie.
bool is_direct(const Tensor& t) {
  const DType d = t.dtype();
  return t.is_contiguous() && (d == f32 || d == bf16 || d == f16);
}

}  // namespace

namespace {

Tensor squares_of(const Tensor& grad) {
  static const Kernel kernel{.plan = plan<run_squares>};
  static const Op op = make_op(
      "grad_squares", "grad_squares(Tensor grad) -> Tensor", "The sum of a gradient's squares, in f64.", kernel,
      [](const Call& c) { return 2.0 * double(c.tensor(0).numel()); }, 0);
  NoGrad guard;
  const Tensor dense = grad.contiguous();
  Tensor out;
  if (is_direct(dense)) {
    Arg args[] = {Arg(dense)};
    call_op(op, args, 1, &out);
  } else {
    out = sum(square(dense.to(f64)));
  }
  return out;
}

// The norm, and what the gradients are multiplied by: 1 where it is not above the most.
struct Clipping {
  int64_t count;
  double most, p;
};
void run_clip(const Clipping& c, const Pointers& at) {
  NormSum sum{c.p};
  for (int64_t k = 0; k < c.count; ++k) sum.add(*static_cast<const double*>(at.in[k]));
  const double factor = c.most / (sum.norm() + 1e-6);
  auto* out = static_cast<double*>(at.out[0]);
  out[0] = sum.norm(), out[1] = factor >= 1 ? 1 : factor;
}
void plan_clip(Call& c) { c.plan.set<run_clip>(Clipping{int64_t(c.tensors(0).size()), c.args[1].real, c.args[2].real}); }

}  // namespace

// Of results of a number each, those of a device brought here at once. On meta none.
static std::vector<double> numbers(std::span<const Tensor> results) {
  std::vector<double> all;
  std::vector<Tensor> there;
  for (const Tensor& t : results)
    if (t.device().is_cuda()) there.push_back(t.view({1}).to(f64));
  if (!there.empty()) return cat(there).to_vector();
  for (const Tensor& t : results)
    if (!t.is_meta()) all.push_back(t.item());
  return all;
}

double grad_squares(std::span<const Tensor> grads) {
  std::vector<Tensor> squares;
  for (const Tensor& g : grads) squares.push_back(squares_of(g));
  double total = 0;
  for (const double s : numbers(squares)) total += s;
  return total;
}

void NormSum::add(double part) {
  if (std::isinf(p))
    total = part > total || std::isnan(part) ? part : total;
  else
    total += p == 0 ? part != 0 : part;
}
double NormSum::norm() const { return p == 2 ? std::sqrt(total) : std::isinf(p) || p == 0 ? total : std::pow(total, 1 / p); }

static Tensor norm_part(const Tensor& t, double p) {
  if (p == 2) return squares_of(t);
  if (p == 0 || std::isinf(p)) return amax(abs(t)).to(f64);
  return sum(pow(abs(t.to(f64)), p));
}
std::vector<Tensor> norm_parts(std::span<const Tensor> tensors, double p) {
  DY_CHECK_AS(ValueError, p >= 0, "total_norm: norm_type is {}; it is at least zero", p);
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors)
    if (t.numel() > 0) parts.push_back(norm_part(t, p));
  return parts;
}
double norm_of(std::span<const Tensor> parts, double p) {
  NormSum sum{p};
  for (const double part : numbers(parts)) sum.add(part);
  return sum.norm();
}

Tensor clip_in_calls(std::span<const Tensor> gradients, double max_norm, double p) {
  static const Kernel kernel{.plan = plan_clip};
  static const Op op = make_op(
      "clip_factor", "clip_factor(Tensor[] parts, float most, float p) -> Tensor",
      "The norm that parts make, and the factor that brings it down to the most.", kernel,
      [](const Call& c) { return double(c.tensors(0).size()); }, 0,
      [](Call& c) {
        c.spec[0].dtype = f64;
        c.spec[0].device = c.tensors(0).empty() ? cpu : c.tensors(0)[0].device();
        c.spec[0].shape({2});
      });
  NoGrad guard;
  const std::vector<Tensor> parts = norm_parts(gradients, p);
  Arg args[] = {Arg(std::span<const Tensor>(parts)), Arg(max_norm), Arg(p)};
  Tensor both;
  call_op(op, args, 3, &both);
  const Tensor factor = both.select(0, 1);
  for (const Tensor& g : gradients)
    if (g.numel()) g.mul_(factor);
  return both.select(0, 0);
}

// Gives a tensor of one number, not 0 where all of them are finite.
static Tensor unscale(const Tensor& grad, double factor) {
  static const Kernel kernel{.plan = plan<run_unscale>};
  static const Op op = make_op(
      "grad_unscale", "grad_unscale(Tensor(a!) grad, Tensor factor) -> Tensor",
      "A factor for a gradient, in place, and whether all of it is finite then.", kernel,
      [](const Call& c) { return double(c.tensor(0).numel()); }, in(0));
  NoGrad guard;
  if (!is_direct(grad)) {
    grad.mul_(factor);
    return all(isfinite(grad));
  }
  const Tensor number = make_numbers({1}, f64);
  *reinterpret_cast<double*>(number.impl()->data()) = factor;
  Arg args[] = {Arg(grad), Arg(number)};
  Tensor out;
  call_op(op, args, 2, &out);
  return out;
}
int64_t grad_unscale(std::span<const Tensor> grads, double factor) {
  std::vector<Tensor> finite;
  for (const Tensor& g : grads) finite.push_back(unscale(g, factor));
  const std::vector<double> all = numbers(finite);
  const auto bad = std::ranges::find(all, 0.0);
  return bad == all.end() ? -1 : bad - all.begin();
}

}  // namespace dyadic::inline v1::optim
