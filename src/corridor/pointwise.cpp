// Pointwise calls: from an op's tiles to a plan, and the short way for small ones.
#include "loops/pointwise.h"

#include "corridor/run.h"
#include "corridor/tape.h"

namespace dyadic::inline v1 {
namespace {

const Tiles& tiles_of(const Kernel& k) { return static_cast<const PointwiseKernel&>(k).tiles; }

void run_pointwise(const PointwisePlan& p, const Pointers& at) { p.run(at.in, at.out[0]); }

// A number is compared as what it is among the tensor's: 0.3 is equal to the bf16 number nearest to it.
void round_numbers(const Call& c, PointwisePlan& p) {
  DType common;
  for (int i = 0; i < c.op.pw.inputs; ++i) {
    const Tensor& t = c.tensor(i);
    if (t.dim() || !t.dtype().is_floating_point() || t.dtype() == f32) continue;
    if (!common) common = result_type(c.args, c.nargs);
    if (common == f32 || common == t.dtype()) continue;
    p.rounded[i] = common.format();
  }
}

}  // namespace

void plan_pointwise(Call& c) {
  const OpDef& op = c.op;
  const Tiles& tiles = tiles_of(*c.kernel);
  PointwisePlan& p = c.plan.make<run_pointwise, PointwisePlan>();
  p.compute = c.compute;
  p.tile = tiles.forward[int(c.compute)];
  p.takes_one = tiles.takes_one && (c.compute == Compute::f32 || c.compute == Compute::f64);
  if (c.compute == Compute::f32) p.bf16_tile = tiles.forward_bf16;
  if (c.compute == Compute::i32) p.narrow_tiles = tiles.forward_narrow;
  p.mask_out = op.types == Types::compare;
  p.real_out = op.pw.real_of_complex;
  p.bits = op.pw.bits;
  for (int i = 0; i < op.pw.params; ++i) {
    const Scalar s = c.scalar(op.pw.inputs + i);
    p.params[i] = s.real();
    p.params[kMaxParams + i] = s.imag();
  }
  if (op.types == Types::compare && c.compute == Compute::f32) round_numbers(c, p);
  alignas(Form) char room[kMaxOperands][sizeof(Form)];
  const Form* in[kMaxOperands];
  for (int i = 0; i < op.pw.inputs; ++i) in[i] = c.has(i) ? new (room[i]) Form(c.impl(i)) : nullptr;
  p.place(in, op.pw.inputs, *c.out[0].impl());
}

namespace {

constexpr int64_t kFew = 128;

// The whole way: numbers that the tile does not take as they are.
[[gnu::noinline]] void run_with_numbers(const Arg* args, const Tensor& out, const Tiles& tiles, Compute compute, int n,
                                        const void* const* in) {
  PointwisePlan p;
  p.compute = compute;
  p.tile = tiles.forward[int(compute)];
  alignas(Form) char room[kMaxOperands][sizeof(Form)];
  const Form* forms[kMaxOperands];
  for (int i = 0; i < n; ++i) forms[i] = in[i] ? new (room[i]) Form(*args[i].tensor->impl()) : nullptr;
  p.place(forms, n, *out.impl());
  p.run(in, out.impl()->data());
}

// f32 and f64 numbers are f64's: rounded, and repeated where the tile reads no single element.
template <class T> struct Numbers {
  T one[kMaxOperands], many[kMaxInputs][kFew];
  bool read(const TensorImpl& t, int i) {
    if (t.dtype != f64) return false;
    one[i] = T(*reinterpret_cast<const double*>(t.data()));
    return true;
  }
};
template <class T>
[[gnu::noinline]] bool run_numbers(const Arg* args, const Tensor& out, const Tiles& tiles, Compute compute, int n,
                                   const void* const* given, unsigned mask) {
  Numbers<T> numbers;
  const void* in[kMaxOperands];
  const int64_t count = out.impl()->numel;
  if (!tiles.takes_one && count > kFew) return false;
  int k = 0;
  for (int i = 0; i < n; ++i) {
    in[i] = given[i];
    if (!(mask >> i & 1)) continue;
    if (!numbers.read(*args[i].tensor->impl(), i)) return false;
    in[i] = &numbers.one[i];
    if (tiles.takes_one) continue;
    if (k == kMaxInputs) return false;
    for (int64_t j = 0; j < count; ++j) numbers.many[k][j] = numbers.one[i];
    in[i] = numbers.many[k++];
  }
  tiles.forward[int(compute)](in, out.impl()->data(), nullptr, count, tiles.takes_one ? mask * kWide : 0);
  return true;
}

}  // namespace

// (Only what lies on the cpu and has been computed has data.)
bool small_pointwise(Op id, const OpDef& op, const Arg* args, int given, Tensor* results) {
  const int n = op.pw.inputs;
  const bool gradient = op.pw.gives_dtype;
  if (op.pw.params || given != n + gradient || args[0].kind != Arg::Kind::tensor) return false;
  const TensorImpl* first = args[0].tensor->impl();
  if (!first) return false;
  const TensorImpl& a = *first;
  if ((a.flags & (kContiguous | kNumber)) != kContiguous || (a.dtype != f32 && a.dtype != f64) || a.numel > 4096 ||
      op.types == Types::compare || !a.storage->data || (gradient && args[n].dtype != a.dtype))
    return false;
  const int64_t size = a.dtype == f32 ? 4 : 8;
  auto data = [size](const TensorImpl& t) { return static_cast<const char*>(t.storage->data) + t.offset * size; };
  const void* in[kMaxOperands];
  in[0] = data(a);
  uint8_t flags = a.flags;
  unsigned numbers = 0;
  for (int i = 1; i < n; ++i) {
    if (gradient && args[i].kind == Arg::Kind::none) {
      in[i] = nullptr;
      continue;
    }
    if (args[i].kind != Arg::Kind::tensor || !args[i].tensor->defined()) return false;
    const TensorImpl& b = *args[i].tensor->impl();
    flags |= b.flags;
    in[i] = data(b);  // a number has no offset
    if (b.flags & kNumber) {
      if (a.ndim == 0 || b.dtype.is_complex() || op.variant) return false;
      numbers |= 1u << i;
      continue;
    }
    if (!(b.flags & kContiguous) || b.dtype != a.dtype || b.ndim != a.ndim || !b.storage->data) return false;
    for (int d = 0; d < a.ndim; ++d)
      if (a.sizes[d] != b.sizes[d]) return false;
  }
  const Compute compute = a.dtype == f32 ? Compute::f32 : Compute::f64;
  const Tiles& tiles = tiles_of(*op_kernel(id));
  if (!tiles.forward[int(compute)]) return false;
  Tensor& out = results[0];
  out = make_like(a);
  if (!numbers)
    tiles.forward[int(compute)](in, out.impl()->data(), nullptr, a.numel, 0);
  else if (!(compute == Compute::f32 ? run_numbers<float>(args, out, tiles, compute, n, in, numbers)
                                     : run_numbers<double>(args, out, tiles, compute, n, in, numbers)))
    run_with_numbers(args, out, tiles, compute, n, in);
  if ((flags & (kRequiresGrad | kView)) && !(t_modes & kNoGrad) && wants_grad(args, given))
    record(id, op, args, given, &out, 1);
  return true;
}

}  // namespace dyadic::inline v1
