#include "ops/common.h"

#include <cstring>

#include <algorithm>

#include "base/parallel.h"
#include "loops/blocked.h"
#include "loops/pointwise.h"
#include "loops/strided_copy_kernel.h"
#include "ops/expected.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1 {

// A number in the dtype of its kind: 16 bytes at most.
DType ops::write_number(Scalar value, void* out) {
  const double parts[] = {value.real(), value.imag()};
  const int64_t whole = value.integer();
  const bool is_real = value.kind() >= Scalar::Kind::real;
  const DType d = value.is_unsigned() ? u64 : dtype_of(value.kind());
  std::memcpy(out, is_real ? static_cast<const void*>(parts) : &whole, size_t(d.format()->itemsize()));
  return d;
}

Tensor scalar_tensor(Scalar value) {
  alignas(16) char bytes[16];
  const DType d = ops::write_number(value, bytes);
  Tensor t = make_numbers({}, d);
  std::memcpy(t.impl()->data(), bytes, size_t(d.format()->itemsize()));
  return t;
}

namespace ops {

IntList resolve_size(const char* who, IntList size, int64_t numel, int64_t* out) {
  DY_CHECK(size.size() <= kMaxDims, "{}: too many dimensions: {} given; at most {}", who, size.size(), kMaxDims);
  int unknown = -1;
  int64_t known = 1;
  for (size_t d = 0; d < size.size(); ++d) {
    out[d] = size[d];
    if (size[d] == -1) {
      DY_CHECK(unknown < 0, "{}: only one size can be -1: the size is {}", who, shape_text(size));
      unknown = int(d);
    } else {
      DY_CHECK(size[d] >= 0, "{}: negative size: the size is {}", who, shape_text(size));
      DY_CHECK(!__builtin_mul_overflow(known, size[d], &known), "{}: too large: {} has more elements than fit", who,
               shape_text(size));
    }
  }
  if (unknown >= 0) {
    DY_CHECK(known > 0 && numel % known == 0, "{}: the sizes do not fit: {} elements do not make {}", who, numel,
             shape_text(size));
    out[unknown] = numel / known;
  } else {
    DY_CHECK(known == numel, "{}: the sizes do not fit: {} elements do not make {}", who, numel, shape_text(size));
  }
  return {out, size.size()};
}

void add_elements(const Array& to, const Array& from) {
  PointwisePlan p;
  p.compute = to.format->compute();
  p.tile = static_cast<const PointwiseKernel*>(op_kernel(Op::add_))->tiles.forward[int(p.compute)];
  const Form a(to), b(from);
  const Form* const in[] = {&a, &b};
  p.place(in, 2, a);
  const void* const data[] = {to.at, from.at};
  p.run(data, to.at);
}

DType dtype_or_default(const Call& c, int arg) { return c.has(arg) ? c.dtype(arg) : default_dtype(); }
Device device_or_cpu(const Call& c, int arg) { return c.has(arg) ? c.args[arg].device : cpu; }

void infer_creation(Call& c, IntList size, int dtype_arg, int device_arg) {
  checked_numel(c.name, size);
  c.spec[0].dtype = dtype_or_default(c, dtype_arg);
  c.spec[0].device = device_or_cpu(c, device_arg);
  c.spec[0].shape(size);
}

void infer_like_other(Call& c, int dtype_arg, int device_arg) {
  infer_like_first(c);
  if (c.has(dtype_arg)) c.spec[0].dtype = c.dtype(dtype_arg);
  if (c.has(device_arg)) c.spec[0].device = c.args[device_arg].device;
}

void check_has_values(const char* who, const Tensor& t) {
  DY_CHECK_AS(ValueError, !t.is_meta(), "{}: the result's shape depends on values, which a meta tensor has none of: it is {}",
              who, describe(t));
}

bool view_strides(const TensorImpl& t, IntList sizes, int64_t* strides) {
  if (t.numel == 0) {
    int64_t s = 1;
    for (int d = int(sizes.size()) - 1; d >= 0; --d) strides[d] = s, s *= std::max<int64_t>(sizes[size_t(d)], 1);
    return true;
  }
  int to = int(sizes.size()) - 1;
  for (int d = t.ndim - 1; d >= 0;) {
    // The longest dense run of old dimensions that ends at d ...
    int64_t base = t.strides[d], have = t.sizes[d];
    int first = d;
    while (first > 0 && (t.sizes[first - 1] == 1 || have == 1 || t.strides[first - 1] == have * base)) {
      --first;
      if (have == 1) base = t.strides[first];
      have *= t.sizes[first];
    }
    // ... must be made up of whole new dimensions.
    int64_t want = 1;
    while (to >= 0 && want < have) {
      strides[to] = want * base;
      want *= sizes[size_t(to--)];
    }
    if (want != have) return false;
    d = first - 1;
  }
  for (; to >= 0; --to) {
    if (sizes[size_t(to)] != 1) return false;
    strides[to] = to + 1 < int(sizes.size()) ? strides[to + 1] * sizes[size_t(to + 1)] : 1;
  }
  return true;
}

bool can_view(const Tensor& t, IntList sizes) {
  int64_t strides[kMaxDims];
  return view_strides(*t.impl(), sizes, strides);
}

Tensor root_of_squares(const Tensor& sum) {
  if (!GradMode::enabled() || !sum.requires_grad()) return sqrt(sum);
  const Tensor plain = sum.detach(), none = eq(plain, 0.0);
  return where(none, zeros_like(plain), sqrt(where(none, ones_like(plain), sum)));
}

Tensor dense(const Tensor& t) { return (t.dtype().is_scaled() ? dyadic::to(t, f32) : t).contiguous(); }

void encode_number(Scalar value, DType dtype, void* stored) {
  alignas(16) char number[16];
  const DType d = write_number(value, number);
  convert(*d.format(), number, *dtype.format(), stored, 1);
}

namespace {

struct Filling {
  Operand out;
  alignas(16) char value[16];  // an element of it
};
void fill_with(const Array& t, const void* value) {
  if (t.count) strided_copy_kernel().fill(t.at, t.steps, t.lengths, t.ndim, value, t.itemsize());
}
void run_fill(const Filling& p, const Pointers& at) { fill_with(at.output(0, p.out), p.value); }

void note_fill(const Tensor& t, Scalar value) {
  auto plan = std::make_unique<Plan>();
  Filling& p = plan->make<run_fill, Filling>();
  p.out = Operand(*t.impl());
  encode_number(value, p.out.dtype(), p.value);
  std::string key(p.value, size_t(t.dtype().itemsize()));
  t_step_watcher->writes("fill_", std::move(key), std::move(plan), t);
}

}  // namespace

void fill(const Array& t, Scalar value) {
  alignas(16) char stored[16];
  encode_number(value, t.dtype(), stored);
  fill_with(t, stored);
}

void fill(const Tensor& t, Scalar value) {
  const TensorImpl& i = *t.impl();
  bool distinct = true;
  for (int d = 0; d < i.ndim; ++d) distinct &= i.sizes[d] <= 1 || i.strides[d] != 0;
  expect_number("fill", value, i.dtype);
  if (t.is_meta() || i.numel == 0) return;
  if (i.dtype.is_blocked() || !distinct || !t.device().is_cpu()) return assign(t, scalar_tensor(value));
  if (t_step_watcher) [[unlikely]]
    note_fill(t, value);
  fill(Array(t), value);
}

void plan_fill(Call& c, Scalar value) {
  Filling& p = c.plan.make<run_fill, Filling>();
  p.out = c.result();
  encode_number(value, p.out.dtype(), p.value);
}

void generate(const Array& t, DType from, FunctionRef<void(int64_t begin, int64_t n, void* values)> values) {
  constexpr int64_t kTile = 512;
  const int64_t width = t.itemsize();
  const bool direct = t.dtype() == from;
  parallel_for((t.count + kTile - 1) / kTile, 64, [&](int64_t begin, int64_t end) {
    alignas(64) char tile[kTile * 16];
    for (int64_t at = begin * kTile; at < std::min(t.count, end * kTile); at += kTile) {
      const int64_t n = std::min(kTile, t.count - at);
      char* out = t.at + at * width;
      values(at, n, direct ? out : tile);
      if (!direct) convert(*from.format(), tile, *t.format, out, n);
    }
  });
}

}  // namespace ops
}  // namespace dyadic::inline v1
