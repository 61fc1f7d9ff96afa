// One call on its way through the corridor: borrowed arguments, what the rules decided, outputs, workspace.
#pragma once
#include "base/check.h"
#include "corridor/args.h"
#include "corridor/op_def.h"
#include "corridor/plan.h"
#include "tensor/impl.h"

namespace dyadic::inline v1 {

struct Spec {  // an output before it exists
  DType dtype;
  Device device;
  int ndim = 0;
  int64_t sizes[kMaxDims];
  void shape(IntList s);
  IntList shape() const { return {sizes, size_t(ndim)}; }
  int64_t numel() const;
};

// Modes: one thread-local word. A plain call pays one branch for all of them.
enum Mode : uint32_t {
  kNoGrad = 1,
  kAutocast = 2,
  kCounting = 4,
  kRounding = 8,
  kAnomaly = 16,
  kForget = 32,       // nodes save nothing
  kAutocastOff = 64,  // a region inside of autocast where it is off: its calls are reported
  kReference = 128,   // plain kernels where there are some
  kDeferring = 256    // a compiled function runs (graph/)
};
extern constinit thread_local uint32_t t_modes;

inline bool is_made(Op op) { return int(op) >= kOps; }  // has no file: corridor/made_ops.h
namespace detail {
extern const OpDef* const* const g_records;
extern const Kernel* const* g_kernels;
const OpDef& made_def(Op op);
const Kernel* made_kernel(Op op);
}  // namespace detail
inline const OpDef& op_def(Op op) { return is_made(op) ? detail::made_def(op) : *detail::g_records[int(op)]; }
const Kernel* reference_kernel(Op op);  // plain loops, an oracle for the others; null where there is none
// Of the running instruction set; null where there is none: views, compositions.
inline const Kernel* op_kernel(Op op) { return is_made(op) ? detail::made_kernel(op) : detail::g_kernels[int(op)]; }
const Kernel* device_kernel(Op op);  // of a cuda device: its plug-in's; null where there is none
const char* op_name(Op op);

class Call {
 public:
  const Op id;
  const OpDef& op;
  const Kernel* kernel;  // null: of a view; execute() takes the device's
  const char* name;
  Arg* args;
  int nargs;
  Spec spec[kMaxOutputs];
  int nout = 1;
  Tensor* out;
  Compute compute = Compute::f32;  // of a pointwise call: what it is computed in
  int fewer_bits = 0;              // of a product of f32: what its factors are rounded to, FewerBits (ops/precision.h)
  Plan plan;

  Call(Op id, const OpDef& op, Arg* args, int n, Tensor* out)
      : id(id), op(op), kernel(kernel_of(id)), name(op_name(id)), args(args), nargs(n), out(out) {}

  static const Kernel* kernel_of(Op id) {
    const Kernel* plain = t_modes & kReference ? reference_kernel(id) : nullptr;
    return plain ? plain : op_kernel(id);
  }
  // For plans: result i as it will lie.
  Operand result(int i = 0) const {
    return out[i].defined() ? Operand(*out[i].impl()) : Operand(spec[i].shape(), spec[i].dtype);
  }
  Operand operand(int i) const { return has(i) ? Operand(impl(i)) : Operand(); }
  bool has(int i) const { return i < nargs && args[i].kind != Arg::Kind::none; }
  const Tensor& tensor(int i) const { return *args[i].tensor; }
  const TensorImpl& impl(int i) const { return *args[i].tensor->impl(); }
  std::span<const Tensor> tensors(int i) const { return {args[i].tensor, args[i].n}; }
  int64_t integer(int i) const { return args[i].integer; }
  bool boolean(int i) const { return args[i].boolean; }
  IntList ints(int i) const { return {args[i].ints, args[i].n}; }
  Scalar scalar(int i) const { return args[i].scalar; }
  DType dtype(int i) const { return args[i].dtype; }
  std::string_view text(int i) const { return {args[i].text, args[i].n}; }

  // The same by name.
  template <class H> decltype(auto) operator[](H h) const { return Args(args)[h]; }
  const Arg& arg(AnyArg h) const { return args[h.at]; }
  bool has(AnyArg h) const { return has(h.at); }
  const TensorImpl& impl(TensorArg h) const { return impl(h.at); }
  Operand operand(TensorArg h) const { return operand(h.at); }
};

// Visits every tensor of a frame in order, lists flattened: f(const Tensor&, int flat index).
template <class F> inline int for_each_tensor(const Arg* args, int n, F&& f) {
  int k = 0;
  for (int i = 0; i < n; ++i) {
    if (args[i].kind == Arg::Kind::tensor)
      f(*args[i].tensor, k++);
    else if (args[i].kind == Arg::Kind::tensors)
      for (uint32_t j = 0; j < args[i].n; ++j) f(args[i].tensor[j], k++);
    else if (args[i].kind == Arg::Kind::none)
      ++k;
  }
  return k;
}

// PyTorch's promotion: dimensioned tensors before 0-d ones before numbers, within them the wider kind. Scaled formats count as
// numbers of kind float: they never win.
DType result_type(const Arg* args, int n);
DType promote_types(DType a, DType b);
DType dtype_of(Scalar::Kind kind);  // bool, i64, f64 or c128
DType number_dtype(DType d);        // what a number brings to promotion: of floats and complex numbers the default
Compute compute_type(DType d);      // what the dtype's values are computed in; f32 for scaled
DType compute_dtype(DType d);

// Shape rules.
void broadcast_shapes(const char* who, Spec& spec, const Arg* args, int n);
void infer_like_first(Call& c);  // dtype and shape of args[0]
void infer_pointwise(Call& c);
void check_float(const char* who, const Tensor& t, const char* name);
void check_same_device(const char* who, const Arg* args, int n);
void check_follows_base(const char* who, const Tensor& self);  // of what is about to be written

struct ModeScope {  // sets and clears bits while it lives
  uint32_t before;
  ModeScope(uint32_t set, uint32_t clear) : before(t_modes) { t_modes = (t_modes | set) & ~clear; }
  ~ModeScope() { t_modes = before; }
  ModeScope(const ModeScope&) = delete;
};

// What rewrites or observes calls, in this order, installed by whoever knows how. Each runs while one of its modes is set.
enum class Stage : uint8_t { autocast, counting, rounding, anomaly };
struct Interceptor {
  uint32_t modes = 0;
  // May replace v.args' tensors by some of `held` (kMaxArgs of them). True: the call has been made in another way.
  bool (*rewrite)(const Invocation& v, const OpDef& op, Tensor* held) = nullptr;
  void (*observe)(const Call& c) = nullptr;  // after the kernel
};
inline constexpr int kStages = 4;
extern constinit Interceptor g_interceptors[kStages];

// The op that computes the gradient for input k of a pointwise op: of (g, inputs ..., result, numbers ..., dtype), where what
// it does not read is none. An op like any other, but without a file: its record is made of the pointwise one's.
Op gradient_op(Op op, int k);

}  // namespace dyadic::inline v1
