#include "ops/expected.h"
#include "ops/nn/softmax.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::softmax_backward_op {
namespace {

void infer(Call& c) {
  check_float(c.name, c[arg::result], "result");
  expect_operand(c, 0, "grad", c[arg::result].sizes());
  infer_like_first(c);
  c.spec[0].dtype = plain(c[arg::result]);
  wrap_dim(c.name, c[arg::dim], c[arg::result].dim());
}
struct Parameters {
  SoftmaxOperand y, dy, dx;
  int64_t outer, n, inner;
  bool log;
};
void run(const Parameters& p, const Pointers& at) {
  const Source dy = p.dy.read(at.in[arg::grad.tensor], at.workspace), y = p.y.read(at.in[arg::result.tensor], at.workspace);
  softmax_kernel().backward(y, dy, p.dx.target(at.out[0], at.workspace), p.outer, p.n, p.inner, p.log);
  p.dx.finish(at.out[0], at.workspace);
}
void run_rows(const Parameters& p, const Pointers& at, int64_t begin, int64_t end) {
  const Source dy = from(p.dy.read(at.in[arg::grad.tensor], at.workspace), begin * p.n),
               y = from(p.y.read(at.in[arg::result.tensor], at.workspace), begin * p.n);
  softmax_kernel().backward(y, dy, from(p.dx.target(at.out[0], at.workspace), begin * p.n), end - begin, p.n, 1, p.log);
}
// What the kernel reads beside others of `result`: all are f64, or none.
DType read_as(DType given, DType result) { return result == f64 ? f64 : given == f64 || given.is_blocked() ? f32 : given; }
void plan(Call& c) {
  const Operand y = c.operand(arg::result), dy = c.operand(arg::grad), dx = c.result();
  const SoftmaxLayout l(c.name, y.sizes(), c[arg::dim]);
  Scratch scratch;
  Parameters& p = c.plan.make<run, Parameters>();
  p.y = l.input(y, read_as(y.dtype(), dx.dtype()), scratch);
  p.dy = l.input(dy, read_as(dy.dtype(), dx.dtype()), scratch);
  p.dx = l.result(dx, p.dy, scratch);
  p.outer = l.outer, p.n = l.n, p.inner = l.inner, p.log = c[arg::log];
  c.plan.workspace = scratch.bytes();
  if (p.inner == 1 && p.y.lies_there() && p.dy.lies_there() && p.dx.lies_there())
    c.plan.in_parts<run_rows, nullptr, Parameters>(p.outer, p.n, in(arg::grad) | in(arg::result),
                                                   dy.format == dx.format ? in(arg::grad) : 0);
}
double flops(const Call& c) { return 4.0 * double(c[arg::grad].numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "softmax_backward(Tensor grad, Tensor result, int dim, bool log) -> Tensor",
    .doc = "The gradient of softmax, or of log_softmax, from its result, in one pass.",
    .internal = true,
    .samples =
        "softmax_backward(randn(3, 5), rand(3, 5), 1, False)\nsoftmax_backward(randn(3, 5), rand(3, 5), 1, True)\n"
        "softmax_backward(randn(2, 3, 9), rand(2, 3, 9), 1, False)\nsoftmax_backward(randn(2, 3, 5), rand(2, 3, 5), 1, True)",
    .infer = infer,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(arg::grad) | in(arg::result)};

}  // namespace dyadic::inline v1::ops::softmax_backward_op
