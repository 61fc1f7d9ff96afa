// Type promotion and the shape rules that many ops share.
#include <algorithm>
#include <atomic>

#include "corridor/call.h"

namespace dyadic::inline v1 {
namespace {

constinit std::atomic<const Format*> g_default{&detail::f32};
constinit thread_local const Format* t_default = nullptr;  // of the innermost DefaultDType

void check_default(const char* who, DType d) {
  DY_CHECK_AS(TypeError, d.is_floating_point(), "{}: only floating-point dtypes: d is {}", who, d.name());
}

// bool, integers, floats (scaled ones too), complex numbers.
int rank(const Format& f) {
  switch (f.def->kind) {
    case Kind::boolean:
      return 0;
    case Kind::floating:
    case Kind::scaled:
      return 2;
    case Kind::complex:
      return 3;
    default:
      return 1;
  }
}

// Every value of `b` is one of `a`: no more fraction bits, no wider range at either end.
bool holds(const FormatDef& a, const FormatDef& b) {
  return a.mantissa_bits >= b.mantissa_bits && a.max >= b.max && a.min_subnormal <= b.min_subnormal;
}
DType promote_floats(DType a, DType b) {
  const FormatDef &fa = *a.format()->def, &fb = *b.format()->def;
  if (holds(fa, fb)) return a;
  if (holds(fb, fa)) return b;
  for (const DType d : {f16, bf16, f32})
    if (holds(*d.format()->def, fa) && holds(*d.format()->def, fb)) return d;
  return f64;
}
DType integer_of(Kind kind, int bits) {
  for (const DType d : registered_dtypes())
    if (d.format()->def->kind == kind && d.format()->def->bits == bits) return d;
  return f64;  // u64 with a signed integer: nothing holds both
}
DType promote_integers(DType a, DType b) {
  const FormatDef &fa = *a.format()->def, &fb = *b.format()->def;
  if (fa.kind == fb.kind) return fa.bits > fb.bits ? a : b;
  const FormatDef &u = fa.kind == Kind::uint ? fa : fb, &s = fa.kind == Kind::uint ? fb : fa;
  if (s.bits > u.bits) return fa.kind == Kind::uint ? b : a;
  return integer_of(Kind::sint, 2 * u.bits);
}

}  // namespace

DType default_dtype() { return DType(t_default ? t_default : g_default.load(std::memory_order_relaxed)); }
void set_default_dtype(DType d) {
  check_default("set_default_dtype", d);
  g_default.store(d.format(), std::memory_order_relaxed);
}
DefaultDType::DefaultDType(DType d) : before_(DType(t_default)) {
  check_default("default_dtype", d);
  t_default = d.format();
}
DefaultDType::~DefaultDType() { t_default = before_.format(); }

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  const Format &fa = *a.format(), &fb = *b.format();
  if (fa.is_scaled()) return rank(fb) >= 2 && !fb.is_scaled() ? b : f32;
  if (fb.is_scaled()) return rank(fa) >= 2 ? a : f32;
  if (rank(fa) == 3 || rank(fb) == 3)
    return real_of(fa.compute()) == Compute::f64 || real_of(fb.compute()) == Compute::f64 ? c128 : c64;
  if (rank(fa) != rank(fb)) return rank(fa) > rank(fb) ? a : b;
  return rank(fa) == 2 ? promote_floats(a, b) : promote_integers(a, b);
}

DType number_dtype(DType d) {
  return d.is_complex() ? default_dtype().to_complex() : d.is_floating_point() ? default_dtype() : d;
}
DType dtype_of(Scalar::Kind kind) {
  constexpr DType kDTypes[] = {boolean, i64, f64, c128};
  return kDTypes[int(kind)];
}

DType result_type(const Arg* args, int n) {
  // Three classes, strongest first: tensors with dimensions, 0-d tensors, numbers (and scaled tensors).
  DType best[3];
  auto add = [&](int k, DType d) { best[k] = best[k] ? promote_types(best[k], d) : d; };
  for_each_tensor(args, n, [&](const Tensor& t, int) {
    const TensorImpl& i = *t.impl();
    if (i.dtype.format()->is_scaled())
      add(2, default_dtype());
    else if (i.flags & kNumber)
      add(2, number_dtype(i.dtype));
    else
      add(i.ndim ? 0 : 1, i.dtype);
  });
  for (int i = 0; i < n; ++i)
    if (args[i].kind == Arg::Kind::scalar) add(2, number_dtype(dtype_of(args[i].scalar.kind())));
  DType r;
  for (DType d : best) {
    if (!d) continue;
    if (!r)
      r = d;
    else if (rank(*d.format()) > rank(*r.format()))
      r = d.is_complex() && r.is_floating_point() ? r.to_complex() : d;
  }
  return r ? r : default_dtype();
}

DType compute_dtype(DType d) { return DType(&compute_format(d.format()->compute())); }
Compute compute_type(DType d) { return d.format()->compute(); }

void Spec::shape(IntList s) {
  ndim = int(s.size());
  std::copy(s.begin(), s.end(), sizes);
}
int64_t Spec::numel() const {
  int64_t n = 1;
  for (int d = 0; d < ndim; ++d) n *= sizes[d];
  return n;
}

void broadcast_shapes(const char* who, Spec& spec, const Arg* args, int n) {
  bool first = true;
  for_each_tensor(args, n, [&](const Tensor& t, int) {
    const TensorImpl& i = *t.impl();
    if (first) spec.device = i.device();
    if (spec.device.is_cpu()) spec.device = i.device();  // a number may lie on the host
    if (first) {
      spec.shape(i.shape());
      first = false;
      return;
    }
    if (i.ndim > spec.ndim) {
      std::copy_backward(spec.sizes, spec.sizes + spec.ndim, spec.sizes + i.ndim);
      std::fill_n(spec.sizes, i.ndim - spec.ndim, 1);
      spec.ndim = i.ndim;
    }
    for (int d = 0; d < i.ndim; ++d) {
      int64_t& s = spec.sizes[spec.ndim - 1 - d];
      int64_t o = i.sizes[i.ndim - 1 - d];
      if (s == 1)
        s = o;
      else if (o != 1 && o != s) {
        std::string all;
        for_each_tensor(args, n, [&](const Tensor& u, int k) { all += fmt::format("{}{}", k ? " and " : "", describe(u)); });
        fail("{}: shapes do not broadcast: {} differ in dimension -{} ({} against {}); make the sizes equal or 1", who, all,
             d + 1, s, o);
      }
    }
  });
}

void check_same_device(const char* who, const Arg* args, int n) {
  const Tensor* first = nullptr;
  const auto is_number = [](const TensorImpl& t) { return t.ndim == 0 && t.device().is_cpu(); };
  for_each_tensor(args, n, [&](const Tensor& t, int) {
    if (t.impl()->flags & kNumber) return;
    if (!first || (first->device() != t.device() && t.device().is_cuda() && is_number(*first->impl()))) first = &t;
    if (t.device() != first->device() && !(first->device().is_cuda() && is_number(*t.impl())))
      fail("{}: tensors on two devices: {} on {} and {} on {}; move one with .to", who, describe(*first),
           first->device().name(), describe(t), t.device().name());
  });
}

void infer_like_first(Call& c) {
  const TensorImpl& t = c.impl(0);
  c.spec[0].dtype = t.dtype.format()->is_scaled() ? f32 : t.dtype;
  c.spec[0].device = t.device();
  c.spec[0].shape(t.shape());
}

void infer_pointwise(Call& c) {
  Spec& s = c.spec[0];
  broadcast_shapes(c.name, s, c.args, c.nargs);
  DType common = result_type(c.args, c.nargs);
  if (c.op.types == Types::counted && common == boolean) common = i64;
  if (c.op.types == Types::float_out && rank(*common.format()) < 2) common = default_dtype();
  s.dtype = c.op.types == Types::compare ? boolean : c.op.pw.real_of_complex ? common.to_real() : common;
  Compute compute = compute_type(common);
  if (c.op.types == Types::same && common == boolean) compute = Compute::i32;
  DY_CHECK_AS(TypeError, c.op.pw.in(compute), "{}: not defined for {}; convert with .to first", c.name, common.name());
  c.compute = compute;
}

void check_float(const char* who, const Tensor& t, const char* name) {
  DY_CHECK_AS(TypeError, t.dtype().is_floating_point() || t.dtype().is_scaled(),
              "{}: needs a floating-point tensor: {} is {}; convert with .to(f32) first", who, name, describe(t));
}

}  // namespace dyadic::inline v1
