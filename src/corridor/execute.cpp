// From rules to results: memory, what a kernel cannot read as it lies, the kernel's plan, its workspace, the kernel.
#include <algorithm>
#include <vector>

#include "corridor/batching.h"
#include "corridor/by_host.h"
#include "corridor/run.h"
#include "device/backend.h"
#include "loops/blocked.h"
#include "loops/pointwise.h"
#include "tensor/step_watcher.h"
#include "tensor/transfer.h"

namespace dyadic::inline v1 {
namespace {

// Scratch of one call, charged as workspace, gone when the call is.
struct Workspace {
  Device device;
  int64_t bytes = 0;
  void* p = nullptr;
  Workspace(Device d, int64_t wanted) : device(d) {
    if (wanted <= 0) return;
    bytes = rounded_bytes(wanted);
    ledger_add(d, Category::workspace, t_module, bytes);
    try {
      p = device_allocate(d, bytes);
    } catch (...) {
      ledger_remove(d, Category::workspace, t_module, bytes);
      throw;
    }
  }
  ~Workspace() {
    if (!bytes) return;
    device_release(device, p, bytes);
    ledger_remove(device, Category::workspace, t_module, bytes);
  }
  Workspace(const Workspace&) = delete;
};

// What a kernel asks of its operands; number k of several, lists flattened, the last bit standing for all from there on.
struct Wishes {
  bool dense;
  uint16_t blocked;
  bool here;  // a 0-d tensor of the host among a device's comes there first, as no kernel reads the host's but pointwise ones
  explicit Wishes(const Call& c)
      : dense(c.kernel->dense),
        blocked(c.kernel->blocked),
        here(c.spec[0].device.is_cuda() && c.op.kind == OpKind::kernel && !c.op.moves) {}
  bool is_left(const TensorImpl& t) const { return here && t.device().is_cpu() && t.ndim == 0; }
  bool reads(const Tensor& t, int k) const {
    const TensorImpl& i = *t.impl();
    if (is_left(i)) return false;
    const bool readable = !i.dtype.format()->is_blocked() || (blocked & in(std::min(k, 7)));
    return readable && (!dense || i.contiguous());
  }
  bool writes_blocked(int j) const { return blocked & out(j); }
};

// A tensor's storage has no data, or random numbers may be of a vmap.
bool lacks_data(const Call& c) {
  bool lacks = c.op.random;
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int) { lacks |= !t.impl()->storage->data; });
  return lacks;
}

bool all_readable(const Call& c, const Wishes& w) {
  bool all = true;
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int k) { all &= w.reads(t, k); });
  return all;
}

// A step that is written down knows of calls alone.
void copy_of(const Tensor& dense, const Tensor& t) {
  if (!t_step_watcher) return assign(dense, t);
  const NoGrad guard;
  Arg args[] = {Arg(dense), Arg(t)};
  call_op_inplace(Op::copy_, args, 2);
}

// Blocked inputs of a kernel that does not read them are decoded to their compute type, strided ones of a kernel that wants
// dense memory copied: as workspace, for the length of the call.
struct Readable {
  Arg args[kMaxArgs];
  Tensor held[kMaxArgs];
  Readable(const Call& c, const Wishes& w) {
    CategoryScope scope(Category::workspace);
    std::copy(c.args, c.args + c.nargs, args);
    int k = 0;
    for (int i = 0; i < c.nargs; ++i) {
      const int first = k;
      k += args[i].kind == Arg::Kind::tensors ? int(args[i].n) : args[i].kind <= Arg::Kind::tensor ? 1 : 0;
      if (args[i].kind != Arg::Kind::tensor || w.reads(*args[i].tensor, first)) continue;
      const bool decode = args[i].tensor->dtype().is_blocked() && !(w.blocked & in(std::min(first, 7)));
      held[i] = decode ? decode_blocked(*args[i].tensor) : *args[i].tensor;
      if (w.is_left(*held[i].impl())) held[i] = moved(held[i], c.spec[0].device);
      if (w.dense && !held[i].is_contiguous()) {
        Tensor dense = make_tensor(held[i].sizes(), held[i].dtype(), held[i].device());
        if (!dense.is_meta()) copy_of(dense, held[i]);
        held[i] = dense;
      }
      args[i].tensor = &held[i];
    }
  }
};

// A kernel writes packed results in their compute type, unless it says otherwise; the tensors they go to are kept meanwhile.
struct Packed {
  Tensor results[kMaxOutputs];
  bool any = false;
  Packed(Call& c, const Wishes& w) {
    for (int j = 0; j < c.nout; ++j) {
      if (!c.spec[j].dtype || !c.out[j].dtype().is_blocked() || w.writes_blocked(j)) continue;
      CategoryScope scope(Category::workspace);
      results[j] = c.out[j];
      c.spec[j].dtype = compute_dtype(c.out[j].dtype());
      c.out[j] = make_tensor(c.spec[j].shape(), c.spec[j].dtype, c.spec[j].device);
      any = true;
    }
  }
  void store(Call& c) {
    for (int j = 0; j < c.nout && any; ++j)
      if (results[j].defined()) {
        assign(results[j], c.out[j]);
        c.out[j] = results[j];
      }
  }
};

// Where the call's tensors lie.
class Places {
  static constexpr int kFew = 16;
  void *few_[kFew], *out_[kMaxOutputs];
  std::vector<void*> many_;

 public:
  Pointers at;
  explicit Places(const Call& c) {
    const int n = for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int k) {
      if (k < kFew) few_[k] = t.impl()->place();
    });
    at.in = few_;
    at.out = out_;
    if (n > kFew) {
      many_.resize(size_t(n));
      at.in = many_.data();
    }
    void** in = n > kFew ? many_.data() : few_;
    int k = 0;
    for (int i = 0; i < c.nargs; ++i) {
      if (c.args[i].kind == Arg::Kind::none) in[k++] = nullptr;
      if (c.args[i].kind == Arg::Kind::tensor) in[k++] = c.args[i].tensor->impl()->place();
      for (uint32_t j = 0; c.args[i].kind == Arg::Kind::tensors && j < c.args[i].n; ++j)
        in[k++] = c.args[i].tensor[j].impl()->place();
    }
    for (int j = 0; j < c.nout; ++j) out_[j] = c.out[j].defined() ? c.out[j].impl()->place() : nullptr;
  }
};

void run_kernel(Call& c, bool on_meta) {
  const Device device = c.spec[0].device;
  if (const Device planned = device.is_meta() ? t_meta_as : device; planned.is_cuda()) [[unlikely]]
    backend().use(int(planned.index()), c.name);
  try {
    c.kernel->plan(c);
  } catch (const NoKernel&) {
    if (device.is_cuda() && !goes_by_host()) throw;
    if (device.is_cuda()) return execute_by_host(c, false);
    c.kernel = op_kernel(c.id);
    c.kernel->plan(c);
  }
  Workspace workspace(c.spec[0].device, c.plan.workspace);
  if (on_meta || !c.plan.runs()) return;
  if ((t_modes & kDeferring) && c.plan.parts.count > 1 && g_feed(c, workspace.p)) return;
  Places places(c);
  places.at.workspace = workspace.p;
  if (t_step_watcher) [[unlikely]]
    device.is_cpu() ? t_step_watcher->runs(c, places.at) : t_step_watcher->refuses("a call that is not on the cpu");
  if (c.plan.draws) places.at.draw = next_draw();
  c.plan.run(places.at);
}

// A scaled result of the same sizes as the scaled tensor it is made of has its rows: those of a convolution are whole filters,
// wider than the last dimension.
Tensor scaled_result(const Call& c, int j) {
  const Spec& s = c.spec[j];
  const Tensor* like = c.nargs > 0 && c.args[0].kind == Arg::Kind::tensor ? c.args[0].tensor : nullptr;
  if (!like || like->dtype() != s.dtype || !(like->sizes() == s.shape()) || !like->is_contiguous())
    return make_tensor(s.shape(), s.dtype, s.device);
  const Geometry g = like->impl()->storage->geometry;
  if (g.numel() != like->numel() || like->dim() == 0 || g.cols == like->size(-1))
    return make_tensor(s.shape(), s.dtype, s.device);
  return make_view(make_tensor({g.rows, g.cols}, s.dtype, s.device), s.shape(), like->strides(), 0);
}

}  // namespace

void execute(Call& c, bool allocate) {
  if (c.op.kind == OpKind::view) return c.op.view(c);
  if (lacks_data(c)) [[unlikely]]
    if (is_batched(c)) return execute_batched(c, allocate);
  if (!c.spec[0].device.is_cpu() && !c.op.moves) [[unlikely]] {
    const bool there = c.spec[0].device.is_cuda();
    if (const Kernel* kernel = there || t_meta_as.is_cuda() ? device_kernel(c.id) : nullptr)
      c.kernel = kernel;
    else if (there)
      return execute_by_host(c, allocate);
  }
  DY_CHECK(c.kernel, "{}: no kernel for device {}", c.name, c.spec[0].device.name());
  const Wishes wishes(c);
  const bool readable = all_readable(c, wishes);
  if (!readable) [[unlikely]]  // a rule that says "as the input" means what the input is decoded to
    for (int j = 0; j < c.nout; ++j)
      if (c.spec[j].dtype && c.spec[j].dtype.is_scaled() && !wishes.writes_blocked(j)) c.spec[j].dtype = f32;
  if (allocate)
    for (int j = 0; j < c.nout; ++j)
      if (c.spec[j].dtype)
        c.out[j] = c.spec[j].dtype.is_scaled() ? scaled_result(c, j)
                                               : make_tensor(c.spec[j].shape(), c.spec[j].dtype, c.spec[j].device);
  const bool on_meta = c.spec[0].device.is_meta();
  Packed packed(c, wishes);
  if (readable) {
    run_kernel(c, on_meta);
  } else {
    const Readable inputs(c, wishes);
    Arg* const given = std::exchange(c.args, const_cast<Arg*>(inputs.args));
    run_kernel(c, on_meta);
    c.args = given;
  }
  packed.store(c);
}

}  // namespace dyadic::inline v1
