#include "optim/grad_ops.h"

#include <algorithm>
#include <cmath>

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
  double most;
};
void run_clip(const Clipping& p, const Pointers& at) {
  double total = 0;
  for (int64_t k = 0; k < p.count; ++k) total += *static_cast<const double*>(at.in[k]);
  const double norm = std::sqrt(total), factor = p.most / (norm + 1e-6);
  auto* out = static_cast<double*>(at.out[0]);
  out[0] = norm, out[1] = factor >= 1 ? 1 : factor;
}
void plan_clip(Call& c) { c.plan.set<run_clip>(Clipping{int64_t(c.tensors(0).size()), c.args[1].real}); }

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

Tensor clip_in_calls(const nn::NamedTensors& params, double max_norm) {
  static const Kernel kernel{.plan = plan_clip};
  static const Op op = make_op(
      "clip_factor", "clip_factor(Tensor[] squares, float most) -> Tensor",
      "The norm that sums of squares make, and the factor that brings it down to the most.", kernel,
      [](const Call& c) { return double(c.tensors(0).size()); }, 0,
      [](Call& c) {
        c.spec[0].dtype = f64;
        c.spec[0].device = c.tensors(0).empty() ? cpu : c.tensors(0)[0].device();
        c.spec[0].shape({2});
      });
  NoGrad guard;
  std::vector<Tensor> gradients, squares;
  for (auto& [name, p] : params)
    if (const Tensor g = p.grad(); g.defined() && g.numel()) gradients.push_back(g), squares.push_back(squares_of(g));
  Arg args[] = {Arg(std::span<const Tensor>(squares)), Arg(max_norm)};
  Tensor both;
  call_op(op, args, 2, &both);
  const Tensor factor = both.select(0, 1);
  for (const Tensor& g : gradients) g.mul_(factor);
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
