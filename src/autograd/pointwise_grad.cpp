// Gradients of pointwise ops, from their lambdas.
#include "autograd/engine.h"
#include "dyadic/ops.h"
#include "loops/pointwise.h"
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

// The shape of the gradient tile's result: everything broadcast, the output's shape.
Tensor run_tile(const OpDef& op, const Grad& g, int k) {
  const Pointwise& pw = op.pw;
  const Compute compute = gradient_type(op, g, k);
  Tensor output;
  PointwiseLoop loop;
  loop.compute = compute;
  loop.tile = pw.grad[k][int(compute)];
  if (compute == Compute::f32) loop.bf16_tile = pw.grad_bf16[k];
  loop.in[0] = &g.g();
  for (int i = 0; i < pw.inputs; ++i)
    if (op.needs[k] & in(i)) loop.in[1 + i] = &g.in(i);
  if (op.needs[k] & out(0)) {
    output = g.out();
    loop.in[1 + pw.inputs] = &output;
  }
  loop.inputs = pw.inputs + 2;
  double params[2 * kMaxParams];
  for (int i = 0; i < pw.params; ++i) {
    const Scalar s = g.scalar(pw.inputs + i);
    params[i] = s.real();
    params[kMaxParams + i] = s.imag();
  }
  loop.params = params;
  const Meta& m = g.out_meta();
  // An input of the output's shape gets its gradient in its own dtype at once; a broadcast one is summed afterwards.
  bool same_shape = g.in_meta(k).shape() == m.shape();
  Tensor result = make_tensor(m.shape(), same_shape ? g.in_meta(k).dtype : DType(&compute_format(compute)), m.device);
  if (!m.device.is_meta()) loop.run(result);
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
  Tracer tracer;
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
    if (g.needs(k) && op.pw.grad[k][0])
      g.set(k, op.pw.grad_is_g[k] ? g.g() : GradMode::enabled() ? run_traced(op, g, k) : run_tile(op, g, k));
}

}  // namespace dyadic::inline v1
