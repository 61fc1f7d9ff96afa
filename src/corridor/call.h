// One call on its way through the corridor: borrowed arguments, what the rules decided, outputs, workspace.
#pragma once
#include "base/check.h"
#include "corridor/op_def.h"
#include "dyadic/call.h"
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

class Call {
 public:
  const OpDef& op;
  const char* name;
  Arg* args;
  int nargs;
  Spec spec[kMaxOutputs];
  int nout = 1;
  Tensor* out;
  void* workspace = nullptr;
  double scratch[2];  // a note from infer to forward

  Call(const OpDef& op, const char* name, Arg* args, int n, Tensor* out) : op(op), name(name), args(args), nargs(n), out(out) {}

  bool has(int i) const { return i < nargs && args[i].kind != Arg::Kind::none; }
  const Tensor& tensor(int i) const { return *args[i].tensor; }
  const TensorImpl& impl(int i) const { return *args[i].tensor->impl(); }
  std::span<const Tensor> tensors(int i) const { return {args[i].tensor, args[i].n}; }
  int64_t integer(int i) const { return args[i].integer; }
  double real(int i) const { return args[i].kind == Arg::Kind::scalar ? args[i].scalar.real() : args[i].real; }
  bool boolean(int i) const { return args[i].boolean; }
  IntList ints(int i) const { return {args[i].ints, args[i].n}; }
  Scalar scalar(int i) const { return args[i].scalar; }
  DType dtype(int i) const { return args[i].dtype; }
  std::string_view text(int i) const { return {args[i].text, args[i].n}; }
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

// Modes: one thread-local word. A plain call pays one branch for all of them.
enum Mode : uint32_t {
  kNoGrad = 1,
  kAutocast = 2,
  kCounting = 4,
  kRounding = 8,
  kAnomaly = 16,
  kForget = 32,      // nodes save nothing
  kAutocastOff = 64  // a region inside of autocast where it is off: its calls are reported
};
extern constinit thread_local uint32_t t_modes;
struct ModeScope {  // sets and clears bits while it lives
  uint32_t before;
  ModeScope(uint32_t set, uint32_t clear) : before(t_modes) { t_modes = (t_modes | set) & ~clear; }
  ~ModeScope() { t_modes = before; }
  ModeScope(const ModeScope&) = delete;
};

// Interceptors are installed by the layers above; each runs when its mode bit is set.
struct Frame {
  Arg* args;
  int n;
  Tensor held[kMaxArgs];  // replacements live here
};
struct Interceptors {
  // True: the call has been made in another way, its results are in `out`.
  bool (*autocast)(Op id, const OpDef& op, Frame& frame, Tensor* out) = nullptr;
};
extern Interceptors g_interceptors;

const OpDef& op_def(Op op);  // of the running instruction set
const char* op_name(Op op);
inline constexpr int kOpCount = kOps;

}  // namespace dyadic::inline v1
