// The corridor: autocast -> dtype and shape rule -> ledger -> outputs and workspace -> kernel -> record for backward.
// Whatever can fail fails before the kernel runs.
#include <algorithm>

#include "corridor/call.h"
#include "corridor/counters.h"
#include "corridor/run.h"
#include "corridor/signature.h"
#include "corridor/tape.h"
#include "loops/blocked.h"
#include "loops/pointwise.h"

namespace dyadic::inline v1 {

constinit thread_local uint32_t t_modes = 0;
constinit Interceptors g_interceptors;

bool wants_grad(const Arg* args, int n) {
  bool any = false;
  for (int i = 0; i < n; ++i) {
    if (args[i].kind == Arg::Kind::tensor)
      any |= fresh(*args[i].tensor->impl()).flags & kRequiresGrad;
    else if (args[i].kind == Arg::Kind::tensors)
      for (uint32_t j = 0; j < args[i].n; ++j) any |= fresh(*args[i].tensor[j].impl()).flags & kRequiresGrad;
  }
  return any;
}

namespace {

// Scratch of one call, charged as workspace, gone when the call is.
struct Workspace {
  Device device;
  int64_t bytes = 0;
  void* p = nullptr;
  Workspace(Device d, int64_t wanted) : device(d) {
    if (wanted <= 0) return;
    const DeviceMemory& memory = device_memory(d);
    bytes = memory.rounded(wanted);
    ledger_add(d, Category::workspace, t_module, bytes);
    try {
      p = memory.allocate(bytes);
    } catch (...) {
      ledger_remove(d, Category::workspace, t_module, bytes);
      throw;
    }
  }
  ~Workspace() {
    if (!bytes) return;
    device_memory(device).release(p, bytes);
    ledger_remove(device, Category::workspace, t_module, bytes);
  }
  Workspace(const Workspace&) = delete;
};

// A number is compared as what it is among the tensor's: 0.3 is equal to the bf16 number nearest to it.
void round_numbers(const Call& c, PointwiseLoop& loop, Tensor* rounded) {
  DType common;
  for (int i = 0; i < c.op.pw.inputs; ++i) {
    const Tensor& t = c.tensor(i);
    if (t.dim() || !t.dtype().is_floating_point() || t.dtype() == f32) continue;
    if (!common) common = result_type(c.args, c.nargs);
    if (common == f32 || common == t.dtype()) continue;
    rounded[i] = make_tensor({}, common, cpu);
    assign(rounded[i], t);
    loop.in[i] = &rounded[i];
  }
}

void run_pointwise(Call& c) {
  const OpDef& op = c.op;
  PointwiseLoop loop;
  loop.compute = Compute(int(c.scratch[0]));
  loop.tile = op.pw.forward[int(loop.compute)];
  loop.takes_one = op.pw.takes_one && (loop.compute == Compute::f32 || loop.compute == Compute::f64);
  if (loop.compute == Compute::f32) loop.bf16_tile = op.pw.forward_bf16;
  if (loop.compute == Compute::i32) loop.narrow_tiles = op.pw.forward_narrow;
  loop.mask_out = op.types == Types::compare;
  loop.real_out = op.pw.real_of_complex;
  loop.bits = op.pw.bits;
  for (int i = 0; i < op.pw.inputs; ++i) loop.in[i] = &c.tensor(i);
  Tensor rounded[kMaxInputs];
  if (op.types == Types::compare && loop.compute == Compute::f32) round_numbers(c, loop, rounded);
  loop.inputs = op.pw.inputs;
  double params[2 * kMaxParams];
  for (int i = 0; i < op.pw.params; ++i) {
    const Scalar s = c.scalar(op.pw.inputs + i);
    params[i] = s.real();
    params[kMaxParams + i] = s.imag();
  }
  loop.params = params;
  loop.run(c.out[0]);
}

// Whether the kernel cannot read `t` as it is.
bool unreadable(const OpDef& op, const Tensor& t) {
  const TensorImpl& i = *t.impl();
  return (!op.accepts_blocked && i.dtype.format()->is_blocked()) || (op.dense && !i.contiguous());
}
bool any_unreadable(const OpDef& op, const Arg* args, int n) {
  bool any = false;
  for_each_tensor(args, n, [&](const Tensor& t, int) { any |= unreadable(op, t); });
  return any;
}

// Blocked inputs of a kernel that does not read them are decoded to their compute type, strided ones of a kernel that wants
// dense memory copied: as workspace, for the length of the call.
void make_readable(Call& c, Arg* args, Tensor* held) {
  CategoryScope scope(Category::workspace);
  for (int i = 0; i < c.nargs; ++i) {
    if (args[i].kind != Arg::Kind::tensor || !unreadable(c.op, *args[i].tensor)) continue;
    held[i] = args[i].tensor->dtype().is_blocked() ? decode_blocked(*args[i].tensor) : *args[i].tensor;
    if (c.op.dense && !held[i].is_contiguous()) {
      Tensor dense = make_tensor(held[i].sizes(), held[i].dtype(), held[i].device());
      if (!dense.is_meta()) copy_elements(dense, held[i]);
      held[i] = dense;
    }
    args[i].tensor = &held[i];
  }
}

bool any_blocked(const Call& c) {
  for (int i = 0; i < c.nout; ++i)
    if (c.spec[i].dtype && c.out[i].dtype().is_blocked()) return true;
  return false;
}
// The kernel writes packed results in their compute type; `results` keeps the tensors they go to.
void hold_results(Call& c, Tensor* results) {
  CategoryScope scope(Category::workspace);
  for (int i = 0; i < c.nout; ++i) {
    if (!c.spec[i].dtype || !c.out[i].dtype().is_blocked()) continue;
    results[i] = c.out[i];
    c.spec[i].dtype = compute_dtype(c.out[i].dtype());
    c.out[i] = make_tensor(c.spec[i].shape(), c.spec[i].dtype, c.spec[i].device);
  }
}

}  // namespace

void execute(Call& c, bool allocate) {
  const OpDef& op = c.op;
  if (op.kind == OpKind::view) {
    op.forward(c);
    return;
  }
  const bool copies = any_unreadable(op, c.args, c.nargs);
  if (copies) [[unlikely]]  // a rule that says "as the input" means what the input is decoded to
    for (int i = 0; i < c.nout; ++i)
      if (c.spec[i].dtype && c.spec[i].dtype.is_scaled() && !op.accepts_blocked) c.spec[i].dtype = f32;
  if (allocate)
    for (int i = 0; i < c.nout; ++i)
      if (c.spec[i].dtype) c.out[i] = make_tensor(c.spec[i].shape(), c.spec[i].dtype, c.spec[i].device);
  Tensor results[kMaxOutputs];
  const bool packs = !op.accepts_blocked && any_blocked(c);
  if (packs) [[unlikely]]
    hold_results(c, results);
  bool on_meta = c.spec[0].device.is_meta();
  Tensor held[kMaxArgs];
  Arg decoded[kMaxArgs];
  Arg* given = c.args;
  if (copies) [[unlikely]] {
    std::copy(c.args, c.args + c.nargs, decoded);
    make_readable(c, decoded, held);
    c.args = decoded;
  }
  {
    Workspace workspace(c.spec[0].device, op.workspace ? op.workspace(c) : 0);
    c.workspace = workspace.p;
    if (!on_meta) op.kind == OpKind::pointwise ? run_pointwise(c) : op.forward(c);
  }
  c.args = given;
  if (packs) [[unlikely]]
    for (int i = 0; i < c.nout; ++i)
      if (results[i].defined()) {
        assign(results[i], c.out[i]);
        c.out[i] = results[i];
      }
}

void observe(Op id, const OpDef& op, const Call& c) {
  if (t_modes & kCounting) count_call(id, op, c);
  if (t_modes & kRounding) compare_with_shadow(id, op, c.args, c.nargs, c.out, c.nout);
  if (t_modes & kAnomaly) watch_result(id, op, c.args, c.nargs, c.out, c.nout);
}

namespace {

bool any_complex(const Arg* args, int n) {
  bool any = false;
  for_each_tensor(args, n, [&](const Tensor& t, int) { any |= t.dtype().is_complex(); });
  return any;
}

}  // namespace

// Kernels that compute know real numbers only, but for those that say otherwise: an op of complex tensors is a composition
// where it has one.
bool goes_by_parts(const OpDef& op, const char* name, const Arg* args, int n) {
  if (op.complex_kernel || (!op.complex && !(op.kind == OpKind::kernel && op.flops))) return false;
  if (!any_complex(args, n)) return false;
  DY_CHECK_AS(TypeError, op.complex, "{}: not defined for complex numbers; use real(), imag() or abs()", name);
  return true;
}

namespace {

void dispatch(Op id, const OpDef& op, Arg* args, int n, Tensor* out) {
  if (goes_by_parts(op, op_name(id), args, n)) [[unlikely]] {
    out[0] = op.complex(args);
    return;
  }
  Call c(op, op_name(id), args, n, out);
  check_same_device(c.name, args, n);
  if (op.kind == OpKind::pointwise)
    infer_pointwise(c);
  else
    op.infer(c);
  execute(c, true);
  if (t_modes & (kCounting | kRounding | kAnomaly)) [[unlikely]]
    observe(id, op, c);
  if (t_modes & kNoGrad) {  // a recorded write into such a view would pass its base by: write_inplace refuses it
    if (op.kind == OpKind::view && args[0].tensor->requires_grad()) {
      set_base(*out[0].impl(), *args[0].tensor->impl());
      out[0].impl()->flags &= uint8_t(~kView);
    }
    return;
  }
  const bool grad = wants_grad(args, n);
  if (op.kind == OpKind::view) set_base(*out[0].impl(), *args[0].tensor->impl());
  if (grad) record(id, op, args, n, out, c.nout);
}

// The common small case: a pointwise op on dense floats of one shape, of its own compute type, and numbers. Returns false to go
// the long way.
bool fast_pointwise(Op id, const OpDef& op, const Arg* args, int n, Tensor* out) {
  const Pointwise& pw = op.pw;
  if (pw.params || n != pw.inputs || args[0].kind != Arg::Kind::tensor || !args[0].tensor->defined()) return false;
  const TensorImpl& a = *args[0].tensor->impl();
  const void* in[kMaxInputs];
  if (!(a.flags & kContiguous) || (a.flags & kNumber) || (a.dtype != f32 && a.dtype != f64) || op.types == Types::compare ||
      a.numel > 4096 || a.device().is_meta())
    return false;
  uint8_t flags = a.flags;
  bool numbers = false;
  in[0] = a.data();
  for (int i = 1; i < n; ++i) {
    if (args[i].kind != Arg::Kind::tensor || !args[i].tensor->defined()) return false;
    const TensorImpl& b = *args[i].tensor->impl();
    flags |= b.flags;
    in[i] = b.data();
    if (b.flags & kNumber) {
      if (a.ndim == 0 || b.dtype.is_complex() || op.variant) return false;
      numbers = true;
      continue;
    }
    if (!(b.flags & kContiguous) || b.dtype != a.dtype || b.ndim != a.ndim || b.device() != a.device()) return false;
    for (int d = 0; d < a.ndim; ++d)
      if (a.sizes[d] != b.sizes[d]) return false;
  }
  const Tile tile = pw.forward[a.dtype == f32 ? 0 : 1];
  if (!tile) return false;
  out[0] = make_tensor(a.shape(), a.dtype, cpu);
  if (numbers) {
    PointwiseLoop loop;
    loop.compute = a.dtype == f32 ? Compute::f32 : Compute::f64;
    loop.tile = tile;
    loop.inputs = n;
    for (int i = 0; i < n; ++i) loop.in[i] = args[i].tensor;
    loop.run(out[0]);
  } else {
    tile(in, out[0].impl()->data(), nullptr, a.numel, false);
  }
  if ((flags & (kRequiresGrad | kView)) && !(t_modes & kNoGrad) && wants_grad(args, n)) record(id, op, args, n, out, 1);
  return true;
}

}  // namespace

// Nodes that a composition has made for its results are called by its name.
static void name_nodes(Op id, std::span<const Tensor> results, uint64_t since) {
  for (const Tensor& t : results)
    if (t.defined() && t.impl()->node && t.impl()->node->seq >= since) t.impl()->node->shown = id;
}

// f() for the composition `id`, by which errors of its parts are called too: "take_along_dim: gather: index out of range ...".
// Those that have its name, or the beginning of it (rand in rand_like), speak for it already.
template <class F> static auto in_name_of(Op id, F&& f) {
  try {
    return f();
  } catch (Error& error) {
    const std::string text = error.what(), name = spelling(signature(id).shared_name);
    if (!name.starts_with(text.substr(0, text.find(':'))))
      static_cast<std::runtime_error&>(error) = std::runtime_error(name + ": " + text);
    throw;
  }
}

static std::vector<Tensor> compose_all(Op id, const OpDef& op, const Arg* args) {
  const uint64_t since = tape_position();
  std::vector<Tensor> all = in_name_of(id, [&] { return op.compose_all(args); });
  name_nodes(id, all, since);
  return all;
}

Arg* with_defaults(Op id, const Arg* args, int& n, Arg* all) {
  const std::vector<Parameter>& parameters = signature(id).parameters;
  std::copy(args, args + n, all);
  for (; size_t(n) < parameters.size(); ++n) all[n] = default_argument(parameters[size_t(n)]);
  return all;
}

void compose(Op id, const OpDef& op, const Arg* args, Tensor* out) {
  if (op.compose) {
    const uint64_t since = tape_position();
    out[0] = in_name_of(id, [&] { return op.compose(args); });
    return name_nodes(id, {out, 1}, since);
  }
  DY_ASSERT(!signature(id).returns_list());
  std::vector<Tensor> all = compose_all(id, op, args);
  std::move(all.begin(), all.end(), out);
}

namespace {

// What the record calls a Tensor must be one.
void check_defined(Op id, const Arg* args, int n) {
  for (int i = 0; i < n; ++i) {
    bool undefined = false;
    if (args[i].kind == Arg::Kind::none) {
      const Parameter& p = signature(id).parameters[size_t(i)];
      undefined = p.type == "Tensor" && !p.optional;
    } else if (args[i].kind == Arg::Kind::tensors) {
      for (uint32_t k = 0; k < args[i].n; ++k) undefined |= !args[i].tensor[k].defined();
    }
    DY_CHECK(!undefined, "{}: {} is undefined: it is, or holds, Tensor(), which has no elements", op_name(id),
             signature(id).parameters[size_t(i)].name);
  }
}

void call_known(Op id, const OpDef& op, Arg* args, int n, Tensor* out) {
  check_defined(id, args, n);
  Arg all[kMaxArgs];
  if (op.kind == OpKind::composite && size_t(n) < signature(id).parameters.size()) args = with_defaults(id, args, n, all);
  const bool composite = op.kind == OpKind::composite;
  auto run = [&](Arg* given) { composite ? compose(id, op, given, out) : dispatch(id, op, given, n, out); };
  // A composition without a policy of its own is what its parts are.
  uint32_t modes = kAutocast | kAutocastOff;
  if (composite) modes = op.amp == Amp::promote ? 0u : uint32_t(kAutocast);
  if (!(t_modes & modes) || !g_interceptors.autocast) return run(args);
  Arg copy[kMaxArgs];
  std::copy(args, args + n, copy);
  Frame frame{copy, n, {}};
  if (!g_interceptors.autocast(id, op, frame, out)) run(copy);
}

}  // namespace

bool has_narrow_index(const OpDef& op, const Arg* args) {
  return op.index >= 0 && args[op.index].kind == Arg::Kind::tensor && args[op.index].tensor->defined() &&
         args[op.index].tensor->dtype() == i32;
}
WideIndex::WideIndex(const OpDef& op, const Arg* given, int n) : held(given[op.index].tensor->to(i64)) {
  std::copy(given, given + n, args);
  args[op.index].tensor = &held;
}

void call_op(Op id, Arg* args, int n, Tensor* out) {
  const OpDef& op = op_def(id);
  if (has_narrow_index(op, args)) [[unlikely]]
    return call_op(id, WideIndex(op, args, n).args, n, out);
  if (op.kind == OpKind::pointwise && !(t_modes & ~kNoGrad) && fast_pointwise(id, op, args, n, out)) return;
  if (!op.variant) return call_known(id, op, args, n, out);
  Arg copy[kMaxArgs];
  std::copy(args, args + n, copy);
  const Op variant = op.variant(copy, n);
  call_known(variant, op_def(variant), copy, n, out);
}

std::vector<Tensor> call_op_all(Op id, Arg* args, int n) {
  const OpDef& op = op_def(id);
  if (op.compose_all) {
    Arg all[kMaxArgs];
    return compose_all(id, op, with_defaults(id, args, n, all));
  }
  std::vector<Tensor> out(kMaxOutputs);
  call_op(id, args, n, out.data());
  out.resize(signature(id).returns.size());
  return out;
}

GradMode::GradMode(bool on) : before_(t_modes) {
  t_modes = on && !t_inference ? t_modes & ~uint32_t(kNoGrad) : t_modes | kNoGrad;
}
GradMode::~GradMode() { t_modes = (t_modes & ~uint32_t(kNoGrad)) | (before_ & kNoGrad); }
bool GradMode::enabled() { return !(t_modes & kNoGrad); }
InferenceMode::InferenceMode(bool on) : before_(std::exchange(t_inference, on)), recording_(!on) {}
InferenceMode::~InferenceMode() { t_inference = before_; }
bool InferenceMode::is_enabled() { return t_inference; }

}  // namespace dyadic::inline v1
