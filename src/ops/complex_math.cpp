#include "ops/complex_math.h"

#include <algorithm>

#include "ops/common.h"
#include "ops/reduce/reduction.h"

namespace dyadic::inline v1 {
namespace {

Tensor imag_or_nothing(const Tensor& t) { return t.dtype().is_complex() ? imag(t) : Tensor(); }

// The dimensions that `dim` names, all if it is absent, as a mask.
struct Reduced {
  const Tensor& t;
  uint32_t mask;
  std::vector<int64_t> dims;  // those, ascending
  Reduced(const char* who, const Arg* a) : t(*a[0].tensor), mask(ops::reduced_dims(who, t.sizes(), a[1])) {
    for (int64_t d = 0; d < t.dim(); ++d)
      if (mask >> d & 1) dims.push_back(d);
  }
  int64_t count() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= t.size(d);
    return n;
  }
};

Tensor sum_of(const Reduced& r, bool keepdim) {
  return r.dims.empty() ? r.t.clone() : view_as_complex(sum(view_as_real(r.t), r.dims, keepdim));
}

// The product over the last dimension: halves multiplied with each other, the odd one out to the next round.
Tensor multiply_last(Tensor t) {
  for (int64_t n = t.size(-1); n > 1; n = t.size(-1)) {
    const int64_t half = n / 2;
    Tensor product = mul(narrow(t, -1, 0, half), narrow(t, -1, half, half));
    if (n % 2) {
      const Tensor both[] = {product, narrow(t, -1, n - 1, 1)};
      product = cat(both, -1);
    }
    t = product;
  }
  return t.size(-1) ? select(t, -1, 0)
                    : ones(t.sizes().vec().size() > 1 ? IntList(t.sizes().begin(), t.sizes().size() - 1) : IntList(), t.dtype(),
                           t.device());
}

}  // namespace

Tensor complex_sum(const Arg* a) { return sum_of({"sum", a}, a[2].boolean); }
Tensor complex_mean(const Arg* a) {
  const Reduced r("mean", a);
  return div(sum_of(r, a[2].boolean), double(r.count()));
}
Tensor complex_prod(const Arg* a) {
  const Reduced r("prod", a);
  std::vector<int64_t> order, kept;
  for (int64_t d = 0; d < r.t.dim(); ++d) {
    const bool gone = r.mask >> d & 1;
    if (!gone) order.push_back(d);
    if (!gone || a[2].boolean) kept.push_back(gone ? 1 : r.t.size(d));
  }
  std::vector<int64_t> rows;
  for (int64_t d : order) rows.push_back(r.t.size(d));
  order.insert(order.end(), r.dims.begin(), r.dims.end());
  rows.push_back(r.count());
  return multiply_last(r.t.permute(order).reshape(rows)).reshape(kept);
}
Tensor complex_any(const Arg* a) {
  Tensor t = ne(*a[0].tensor, 0);
  Arg args[] = {Arg(t), a[1], a[2]};
  Tensor out;
  call_op(Op::any_, args, 3, &out);
  return out;
}
Tensor complex_all(const Arg* a) {
  Tensor t = ne(*a[0].tensor, 0);
  Arg args[] = {Arg(t), a[1], a[2]};
  Tensor out;
  call_op(Op::all_, args, 3, &out);
  return out;
}

// Four real products, or two where one factor is real.
Tensor complex_matmul(const Arg* a) {
  const Tensor &x = *a[0].tensor, &y = *a[1].tensor;
  const DType common = promote_types(x.dtype(), y.dtype()), part = common.to_real();
  const Tensor xr = to(real(x), part), yr = to(real(y), part);
  const Tensor xi = imag_or_nothing(x), yi = imag_or_nothing(y);
  if (!xi.defined()) return complex(matmul(xr, yr), matmul(xr, to(yi, part)));
  if (!yi.defined()) return complex(matmul(xr, yr), matmul(to(xi, part), yr));
  const Tensor xj = to(xi, part), yj = to(yi, part);
  return complex(sub(matmul(xr, yr), matmul(xj, yj)), add(matmul(xr, yj), matmul(xj, yr)));
}
Tensor complex_linear(const Arg* a) {
  Tensor y = matmul(*a[0].tensor, a[1].tensor->t());
  return a[2].kind == Arg::Kind::tensor ? add(y, *a[2].tensor) : y;
}

Tensor complex_exp(const Arg* a) {
  const Tensor x = real(*a[0].tensor), y = imag(*a[0].tensor), size = exp(x);
  return complex(where(eq(y, 0), size, mul(size, cos(y))), where(eq(y, 0), y, mul(size, sin(y))));
}
// The root with a real part of at least 0: of |re| first, so that nothing cancels.
Tensor complex_sqrt(const Arg* a) {
  const Tensor x = real(*a[0].tensor), y = imag(*a[0].tensor);
  const Tensor t = sqrt(mul(add(abs(x), abs(*a[0].tensor)), 0.5));
  const Tensor other = where(eq(t, 0), 0 * t, div(abs(y), mul(where(eq(t, 0), ones_like(t), t), 2)));
  const Tensor right = ge(x, 0), minus = lt(div(1, y), 0);  // also of -0
  const Tensor size = where(right, other, t);
  return complex(where(right, t, other), where(minus, neg(size), size));
}
Tensor complex_rsqrt(const Arg* a) { return reciprocal(sqrt(*a[0].tensor)); }
Tensor complex_logical_not(const Arg* a) { return eq(*a[0].tensor, 0); }

}  // namespace dyadic::inline v1
