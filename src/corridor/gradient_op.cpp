// Gradients of pointwise ops as ops, made of the pointwise ones' records and kernels when they are first asked for.
#include <atomic>
#include <mutex>
#include <string>

#include "corridor/made_ops.h"
#include "corridor/run.h"
#include "corridor/signature.h"

namespace dyadic::inline v1 {
namespace {

// Like the result for an input of its shape; what was broadcast is summed afterwards, in the compute type: `dtype` says which.
void infer_gradient(Call& c) {
  const int n = c.op.pw.inputs;
  Spec& s = c.spec[0];
  broadcast_shapes(c.name, s, c.args, n);
  s.dtype = c.dtype(n + c.op.pw.params);
  bool wide = real_of(compute_type(s.dtype)) == Compute::f64 || real_of(compute_type(c.tensor(0).dtype())) == Compute::f64;
  bool complex = s.dtype.is_complex();
  for_each_tensor(c.args, n, [&](const Tensor& t, int) { complex |= t.dtype().is_complex(); });
  c.compute = complex ? (wide ? Compute::c128 : Compute::c64) : wide ? Compute::f64 : Compute::f32;
}

std::string signature_text(const std::string& name, const Signature& of, const OpDef& op) {
  std::string s = name + "(Tensor grad";
  for (int i = 0; i < op.pw.inputs; ++i) s += ", Tensor? " + of.parameters[size_t(i)].name;
  s += ", Tensor? result";
  for (int i = 0; i < op.pw.params; ++i) s += ", Scalar " + of.parameters[size_t(op.pw.inputs + i)].name;
  return s + ", ScalarType dtype) -> Tensor";
}

Op make(Op op, int k) {
  const OpDef& of = op_def(op);
  const Signature& sig = signature(op);
  auto g = std::make_unique<MadeOp>();
  g->name = std::string(op_name(op)) + "_backward";
  g->sig = signature_text(g->name, sig, of);
  g->doc = "The gradient of " + sig.shared_name + " for " + sig.parameters[size_t(k)].name + ".";
  g->of = op, g->input = k;
  g->def.kind = OpKind::pointwise;
  g->def.infer = infer_gradient;
  g->def.pw.inputs = of.pw.inputs + 2;
  g->def.pw.params = of.pw.params;
  g->def.pw.gives_dtype = true;
  g->def.pw.trace = of.pw.trace_grad[k];
  g->def.pw.flops = of.pw.grad_flops[k];
  g->def.pw.complex_flops = of.pw.complex_grad_flops[k];
  for (int column = 0; column < kColumns; ++column) {
    const Kernel* kernel = column_kernel(column, op);
    if (!kernel) continue;
    auto* made = new PointwiseKernel;
    made->plan = plan_pointwise;
    made->tiles = static_cast<const PointwiseKernel*>(kernel)->grad[k];
    g->kernel[column] = made;
  }
  return add_op(std::move(g));
}

}  // namespace

Op gradient_op(Op op, int k) {
  static std::mutex mutex;
  static std::atomic<uint16_t> made[kOps][kMaxInputs];
  std::atomic<uint16_t>& slot = made[int(op)][k];
  if (const uint16_t id = slot.load(std::memory_order_acquire)) return Op(id);
  const std::lock_guard lock(mutex);
  if (!slot.load(std::memory_order_relaxed)) slot.store(uint16_t(make(op, k)), std::memory_order_release);
  return Op(slot.load(std::memory_order_relaxed));
}

}  // namespace dyadic::inline v1
