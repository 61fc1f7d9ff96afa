#include "optim/grad_ops.h"

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
           uint16_t writes) {
  auto op = std::make_unique<MadeOp>();
  op->name = name, op->sig = sig, op->doc = doc;
  op->def.infer = infer;
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

double grad_squares(const Tensor& grad) {
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
  return out.is_meta() ? 0 : out.item();
}

bool grad_unscale(const Tensor& grad, double factor) {
  static const Kernel kernel{.plan = plan<run_unscale>};
  static const Op op = make_op(
      "grad_unscale", "grad_unscale(Tensor(a!) grad, Tensor factor) -> Tensor",
      "A factor for a gradient, in place, and whether all of it is finite then.", kernel,
      [](const Call& c) { return double(c.tensor(0).numel()); }, in(0));
  NoGrad guard;
  if (!is_direct(grad)) {
    grad.mul_(factor);
    return grad.is_meta() || all(isfinite(grad)).item<bool>();
  }
  const Tensor number = make_tensor({1}, f64, cpu);
  number.impl()->flags |= kNumber;  // read on the host
  *reinterpret_cast<double*>(number.impl()->data()) = factor;
  Arg args[] = {Arg(grad), Arg(number)};
  Tensor out;
  call_op(op, args, 2, &out);
  return out.is_meta() || out.item() != 0;
}

}  // namespace dyadic::inline v1::optim
