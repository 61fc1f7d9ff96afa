// Gradients of pointwise ops, from their lambdas.
#include "autograd/engine.h"
#include "dyadic/ops.h"
#include "ops/tracer.h"

namespace dyadic::inline v1 {
namespace {

bool any_complex(const OpDef& op, const Grad& g) {
  bool any = g.g().dtype().is_complex();
  for (int i = 0; i < op.pw.inputs; ++i) any |= g.in_meta(i).dtype.is_complex();
  return any;
}
Compute gradient_type(const OpDef& op, const Grad& g, int k) {
  const bool wide =
      real_of(compute_type(g.g().dtype())) == Compute::f64 || real_of(compute_type(g.in_meta(k).dtype)) == Compute::f64;
  if (any_complex(op, g)) return wide ? Compute::c128 : Compute::c64;
  return wide ? Compute::f64 : Compute::f32;
}

// By the gradient's own op. An input of the output's shape gets its gradient in its own dtype at once; a broadcast one is
// summed afterwards.
Tensor run_op(const OpDef& op, const Grad& g, int k) {
  const Pointwise& pw = op.pw;
  Tensor output, result;
  Arg args[kMaxArgs];
  int n = 0;
  args[n++] = g.g();
  for (int i = 0; i < pw.inputs; ++i, ++n)
    if (op.needs[k] & in(i)) args[n] = g.in(i);
  if (op.needs[k] & out(0)) args[n] = output = g.out();
  ++n;
  for (int i = 0; i < pw.params; ++i) args[n++] = g.scalar(pw.inputs + i);
  const bool same_shape = g.in_meta(k).shape() == g.out_meta().shape();
  args[n++] = same_shape ? g.in_meta(k).dtype : DType(&compute_format(gradient_type(op, g, k)));
  call_op(gradient_op(g.node.id, k), args, n, &result);
  return result;
}

// Of abs, the one op that makes real numbers of complex ones: no holomorphic function, so its lambda cannot be traced.
Tensor run_of_complex(const Grad& g) {
  const Tensor &z = g.in(0), size = abs(z), none = eq(size.detach(), 0.0);
  return mul(z, where(none, zeros_like(none, size.dtype()), div(g.g(), where(none, ones_like(size.detach()), size))));
}

Tensor run_traced(const OpDef& op, const Grad& g, int k) {
  if (op.pw.real_of_complex && g.in_meta(k).dtype.is_complex()) return run_of_complex(g);
  const Pointwise& pw = op.pw;
  const DefaultDType exact(real_of(gradient_type(op, g, k)) == Compute::f64 ? f64 : f32);  // of what numbers alone make
  TensorTracer tracer;
  Traced in[kMaxInputs + 2], params[kMaxParams];
  const bool pairs = any_complex(op, g);  // traced as a holomorphic function
  in[0] = tracer.enter(pairs ? conj(g.g()) : g.g());
  for (int i = 0; i < pw.inputs; ++i)
    if (op.needs[k] & dyadic::in(i)) in[1 + i] = tracer.enter(g.in(i));
  if (op.needs[k] & out(0)) in[1 + pw.inputs] = tracer.enter(g.out());
  for (int i = 0; i < pw.params; ++i) {
    const Scalar s = g.scalar(pw.inputs + i);
    params[i] = s.imag() == 0 ? tracer.constant(s.real()) : tracer.enter(scalar_tensor(s));
  }
  Tensor r = tracer.value(pw.trace_grad[k](in, params));
  return pairs ? conj(r) : r;
}

}  // namespace

void pointwise_backward(const OpDef& op, Grad& g) {
  for (int k = 0; k < op.pw.inputs; ++k)
    if (g.needs(k) && op.pw.has_grad(k))
      g.set(k, op.pw.grad_is_g[k] ? g.g() : GradMode::enabled() ? run_traced(op, g, k) : run_op(op, g, k));
}

}  // namespace dyadic::inline v1
