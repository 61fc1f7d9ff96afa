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
struct Squares {
  int64_t count;
  const Params* of;
};
void run_squares(const Squares& p, const Pointers& at) {
  for (int64_t k = 0; k < p.count; ++k)
    static_cast<double*>(at.out[0])[k] = adamw_kernel().sum_squares({at.in[k], p.of[k].format}, p.of[k].n);
}
void plan_squares(Call& c) {
  const auto grads = c.tensors(0);
  auto* const of = c.plan.list<Params>(grads.size());
  for (size_t k = 0; k < grads.size(); ++k) of[k] = {grads[k].dtype().format(), grads[k].numel()};
  c.plan.set<run_squares>(Squares{int64_t(grads.size()), of});
}
void run_unscale(const Params& p, const Pointers& at) {
  const double factor = *static_cast<const double*>(at.in[1]);
  *static_cast<double*>(at.out[0]) = adamw_kernel().unscale({at.in[0], p.format}, p.n, factor);
}
void plan_unscale(Call& c) { c.plan.set<run_unscale>(Params{c.tensor(0).dtype().format(), c.tensor(0).numel()}); }
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

// Of gradients that the kernels read as they lie, all on one device: f64[count].
Tensor squares_of(std::span<const Tensor> grads) {
  static const Kernel kernel{.plan = plan_squares};
  static const Op op = make_op(
      "grad_squares", "grad_squares(Tensor[] grads) -> Tensor", "The sums of gradients' squares, in f64.", kernel,
      [](const Call& c) {
        double elements = 0;
        for (const Tensor& g : c.tensors(0)) elements += double(g.numel());
        return 2 * elements;
      },
      0,
      [](Call& c) {
        c.spec[0].dtype = f64;
        c.spec[0].device = c.tensors(0)[0].device();
        c.spec[0].shape({int64_t(c.tensors(0).size())});
      });
  NoGrad guard;
  Arg args[] = {Arg(grads)};
  Tensor out;
  call_op(op, args, 1, &out);
  return out;
}
Tensor squares_of(const Tensor& grad) {
  NoGrad guard;
  const Tensor dense = grad.contiguous();
  return is_direct(dense) ? squares_of({&dense, 1}) : sum(square(dense.to(f64)));
}
// The same as a list of results, in the tensors' order: neighbours that are read as they lie make one call.
std::vector<Tensor> all_squares(std::span<const Tensor> grads) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < grads.size();) {
    size_t end = i;
    while (end < grads.size() && is_direct(grads[end]) && grads[end].device() == grads[i].device()) ++end;
    out.push_back(end > i ? squares_of(grads.subspan(i, end - i)) : squares_of(grads[i]));
    i = std::max(end, i + 1);
  }
  return out;
}

// The norm, and what the gradients are multiplied by: 1 where it is not above the most.
struct Clipping {
  int64_t count;
  const int64_t* numbers;  // of each tensor
  double most, p;
};
void run_clip(const Clipping& c, const Pointers& at) {
  NormSum sum{c.p};
  for (int64_t k = 0; k < c.count; ++k)
    for (int64_t i = 0; i < c.numbers[k]; ++i) sum.add(static_cast<const double*>(at.in[k])[i]);
  const double factor = c.most / (sum.norm() + 1e-6);
  auto* out = static_cast<double*>(at.out[0]);
  out[0] = sum.norm(), out[1] = factor >= 1 ? 1 : factor;
}
void plan_clip(Call& c) {
  const auto parts = c.tensors(0);
  auto* const numbers = c.plan.list<int64_t>(parts.size());
  for (size_t k = 0; k < parts.size(); ++k) numbers[k] = parts[k].numel();
  c.plan.set<run_clip>(Clipping{int64_t(parts.size()), numbers, c.args[1].real, c.args[2].real});
}

}  // namespace

// All that results hold, those of a device brought here at once. On meta none.
static std::vector<double> numbers(std::span<const Tensor> results) {
  std::vector<double> all;
  std::vector<Tensor> there;
  for (const Tensor& t : results)
    if (t.device().is_cuda()) there.push_back(t.view({t.numel()}).to(f64));
  if (!there.empty()) return (there.size() == 1 ? there[0] : cat(there)).to_vector();
  for (const Tensor& t : results)
    if (!t.is_meta())
      for (const double x : t.to_vector()) all.push_back(x);
  return all;
}

double grad_squares(std::span<const Tensor> grads) {
  double total = 0;
  for (const double s : numbers(all_squares(grads))) total += s;
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
  if (p == 0 || std::isinf(p)) return amax(abs(t)).to(f64);
  return sum(pow(abs(t.to(f64)), p));
}
std::vector<Tensor> norm_parts(std::span<const Tensor> tensors, double p) {
  DY_CHECK_AS(ValueError, p >= 0, "total_norm: norm_type is {}; it is at least zero", p);
  std::vector<Tensor> filled, parts;
  for (const Tensor& t : tensors)
    if (t.numel() > 0) filled.push_back(t);
  if (p == 2) return all_squares(filled);
  for (const Tensor& t : filled) parts.push_back(norm_part(t, p));
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
  static const Kernel kernel{.plan = plan_unscale};
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
