#include "ops/complex_math.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "corridor/tape.h"
#include "ops/common.h"
#include "ops/reduce/reduction.h"

namespace dyadic::inline v1 {
namespace {

// The dimensions that `dim` names, all if it is absent, as a mask.
struct Reduced {
  const Tensor& t;
  uint32_t mask;
  std::vector<int64_t> dims;  // those, ascending
  Reduced(const char* who, Args a)
      : t(a[ops::sum_op::arg::self]), mask(ops::reduced_dims(who, t.sizes(), a.arg(ops::sum_op::arg::dim))) {
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

Tensor complex_sum(Args a) { return sum_of({"sum", a}, a[ops::sum_op::arg::keepdim]); }
Tensor complex_mean(Args a) {
  const Reduced r("mean", a);
  return div(sum_of(r, a[ops::mean_op::arg::keepdim]), double(r.count()));
}
Tensor complex_prod(Args a) {
  const Reduced r("prod", a);
  std::vector<int64_t> order, kept;
  for (int64_t d = 0; d < r.t.dim(); ++d) {
    const bool gone = r.mask >> d & 1;
    if (!gone) order.push_back(d);
    if (!gone || a[ops::prod_op::arg::keepdim]) kept.push_back(gone ? 1 : r.t.size(d));
  }
  std::vector<int64_t> rows;
  for (int64_t d : order) rows.push_back(r.t.size(d));
  order.insert(order.end(), r.dims.begin(), r.dims.end());
  rows.push_back(r.count());
  return multiply_last(r.t.permute(order).reshape(rows)).reshape(kept);
}
Tensor complex_any(Args a) {
  Tensor t = ne(a[ops::any_op::arg::self], 0);
  Arg args[] = {Arg(t), a.arg(ops::any_op::arg::dim), a.arg(ops::any_op::arg::keepdim)};
  Tensor out;
  call_op(Op::any_, args, 3, &out);
  return out;
}
Tensor complex_all(Args a) {
  Tensor t = ne(a[ops::all_op::arg::self], 0);
  Arg args[] = {Arg(t), a.arg(ops::all_op::arg::dim), a.arg(ops::all_op::arg::keepdim)};
  Tensor out;
  call_op(Op::all_, args, 3, &out);
  return out;
}

Tensor complex_linear(Args a) {
  Tensor y = matmul(a[ops::linear_op::arg::input], a[ops::linear_op::arg::weight].t());
  return a.has(ops::linear_op::arg::bias) ? add(y, a[ops::linear_op::arg::bias]) : y;
}

// size sin(y), which is 0 where y is, whatever the size.
static Tensor times_sin(const Tensor& size, const Tensor& y) {
  const Tensor lost = logical_and(eq(y, 0), logical_not(isfinite(size)));
  return mul(where(lost, copysign(ones_like(size), size), size), sin(y));
}

Tensor complex_exp(Args a) {
  const Tensor x = real(a[ops::exp_op::arg::self]), y = imag(a[ops::exp_op::arg::self]), size = exp(x);
  // Of a size of 0 or infinity the direction may be none.
  const Tensor lost = logical_not(isfinite(y)), none = logical_and(lost, eq(size, 0)), all = logical_and(lost, eq(x, HUGE_VAL));
  return complex(where(logical_or(none, all), size, mul(size, cos(y))), where(none, size, times_sin(size, y)));
}

namespace {

using OfOne = Tensor (*)(const Tensor& z);

// value(z), whose gradient is by its derivative: what is made of absolute values and signs of parts has another one on the
// axes.
Tensor by_slope(const char* name, const Tensor& z, OfOne value, OfOne slope) {
  if (!z.requires_grad() || !GradMode::enabled()) return value(z);
  std::vector<Tensor> result(1);
  {
    NoGrad guard;
    result[0] = value(z);
  }
  NodeExtra function;
  function.name = name;
  function.backward = [z, version = z.version(), slope, name](std::span<const Tensor> g) -> std::vector<Tensor> {
    DY_CHECK(z.version() == version,
             "{}: a tensor needed for backward was overwritten: the input was written in place after the "
             "forward; clone it before writing",
             name);
    return {mul(g[0], conj(slope(z)))};
  };
  record_function({&z, 1}, result, std::move(function), true);
  return result[0];
}

// The root with a real part of at least 0: of |re| first, so that nothing cancels.
Tensor root(const Tensor& z) {
  const Tensor x = real(z), y = imag(z);
  const Tensor t = sqrt(mul(add(abs(x), abs(z)), 0.5));
  const Tensor other = where(eq(t, 0), 0 * t, div(abs(y), mul(where(eq(t, 0), ones_like(t), t), 2)));
  const Tensor right = ge(x, 0), minus = lt(div(1, y), 0);  // also of -0
  const Tensor size = where(right, other, t), endless = isinf(y);
  return complex(where(endless, abs(y), where(right, t, other)), where(endless, y, where(minus, neg(size), size)));
}

}  // namespace

Tensor complex_sqrt(Args a) {
  return by_slope("sqrt", a[ops::sqrt_op::arg::self], root, [](const Tensor& z) { return div(0.5, sqrt(z)); });
}
Tensor complex_rsqrt(Args a) { return reciprocal(sqrt(a[ops::rsqrt_op::arg::self])); }
Tensor complex_logical_not(Args a) { return eq(a[ops::logical_not_op::arg::self], 0); }

namespace {

struct RealAndImaginary {
  const Tensor& z;
  Tensor x, y;
  explicit RealAndImaginary(Args a) : z(a[ops::exp_op::arg::self]), x(real(z)), y(imag(z)) {}
  // A zero y keeps its sign, which says on which side of a branch cut z lies; that of 1 - z as a difference would lose it.
  Tensor one_plus() const { return complex(add(x, 1), y); }
  Tensor one_minus() const { return complex(sub(1, x), neg(y)); }
  Tensor minus_one() const { return complex(sub(x, 1), y); }
};
Tensor times_i(const Tensor& z) { return complex(neg(imag(z)), real(z)); }
Tensor over_i(const Tensor& z) { return complex(imag(z), neg(real(z))); }

}  // namespace

Tensor complex_log(Args a) {
  const RealAndImaginary p(a);
  return complex(log(abs(p.z)), atan2(p.y, p.x));
}
// Near 0 by the square of the absolute value, which elsewhere would cancel.
Tensor complex_log1p(Args a) {
  const RealAndImaginary p(a);
  const Tensor u = add(p.x, 1), size = abs(complex(u, p.y));
  const Tensor near = mul(log1p(add(mul(p.x, add(p.x, 2)), square(p.y))), 0.5);
  return complex(where(lt(abs(p.z), 0.5), near, log(size)), atan2(p.y, u));
}
// By parts: infinity times the 0 of a real factor would be NaN.
static Tensor scaled(const Tensor& z, double factor) { return complex(mul(real(z), factor), mul(imag(z), factor)); }
Tensor complex_log2(Args a) { return scaled(log(a[ops::log2_op::arg::self]), 1.4426950408889634); }
Tensor complex_log10(Args a) { return scaled(log(a[ops::log10_op::arg::self]), 0.4342944819032518); }
Tensor complex_expm1(Args a) {
  const RealAndImaginary p(a);
  return complex(sub(mul(expm1(p.x), cos(p.y)), mul(square(sin(mul(p.y, 0.5))), 2)), mul(exp(p.x), sin(p.y)));
}

namespace {

// Of x + iy. Where y is no number, a size of 0 or infinity is one all the same.
Tensor sinh_of(const Tensor& x, const Tensor& y) {
  const Tensor sized = logical_and(logical_not(isfinite(y)), logical_or(eq(x, 0), isinf(x)));
  return complex(where(sized, x, mul(sinh(x), cos(y))), times_sin(cosh(x), y));
}
Tensor cosh_of(const Tensor& x, const Tensor& y) {
  const Tensor lost = logical_not(isfinite(y));
  return complex(where(logical_and(lost, isinf(x)), abs(x), mul(cosh(x), cos(y))),
                 where(logical_and(lost, eq(x, 0)), x, times_sin(sinh(x), y)));
}

}  // namespace

Tensor complex_sin(Args a) {
  const RealAndImaginary p(a);
  return over_i(sinh_of(neg(p.y), p.x));
}
Tensor complex_cos(Args a) {
  const RealAndImaginary p(a);
  return cosh_of(neg(p.y), p.x);
}
Tensor complex_sinh(Args a) {
  const RealAndImaginary p(a);
  return sinh_of(p.x, p.y);
}
Tensor complex_cosh(Args a) {
  const RealAndImaginary p(a);
  return cosh_of(p.x, p.y);
}
Tensor complex_tan(Args a) { return over_i(tanh(times_i(a[ops::tan_op::arg::self]))); }
// Kahan, "Branch cuts for complex elementary functions" (1987), as are the inverse functions. Beyond 22 tanh is 1 in f64.
Tensor complex_tanh(Args a) {
  const RealAndImaginary p(a);
  const Tensor t = tan(p.y), s = sinh(clamp(p.x, -22, 22)), beta = add(square(t), 1), square_s = square(s);
  const Tensor below = add(mul(beta, square_s), 1), lost = logical_not(isfinite(p.y)), end = isinf(p.x);
  const Tensor re = div(mul(mul(beta, sqrt(add(square_s, 1))), s), below), im = div(t, below), none = zeros_like(p.y);
  return complex(where(end, copysign(ones_like(p.x), p.x), where(logical_and(lost, eq(p.x, 0)), p.x, re)),
                 where(end, copysign(none, where(lost, p.y, t)), where(logical_and(eq(p.y, 0), isnan(p.x)), p.y, im)));
}

namespace {

// What the inverse functions are of an infinite number, and of one whose part of 0 is known while the other is NaN.
Tensor infinite(const RealAndImaginary& p) { return logical_or(isinf(p.x), isinf(p.y)); }
Tensor infinity_like(const Tensor& sign) { return copysign(full_like(sign, HUGE_VAL), sign); }

}  // namespace

Tensor complex_asin(Args a) {
  const RealAndImaginary p(a);
  const Tensor minus = sqrt(p.one_minus()), plus = sqrt(p.one_plus());
  const Tensor end = infinite(p), known = logical_and(eq(p.x, 0), isnan(p.y));
  const Tensor re = where(known, p.x, atan2(p.x, real(mul(minus, plus))));
  return complex(where(end, atan2(p.x, abs(p.y)), re), where(end, infinity_like(p.y), asinh(imag(mul(conj(minus), plus)))));
}
Tensor complex_acos(Args a) {
  const RealAndImaginary p(a);
  const Tensor minus = sqrt(p.one_minus()), plus = sqrt(p.one_plus());
  const Tensor end = infinite(p), known = logical_and(eq(p.x, 0), isnan(p.y));
  const Tensor re = where(known, full_like(p.x, M_PI_2), mul(atan2(real(minus), real(plus)), 2));
  return complex(where(end, atan2(abs(p.y), p.x), re),
                 where(end, neg(infinity_like(p.y)), asinh(imag(mul(conj(plus), minus)))));
}
Tensor complex_acosh(Args a) {
  const RealAndImaginary p(a);
  const Tensor minus = sqrt(p.minus_one()), plus = sqrt(p.one_plus());
  const Tensor end = infinite(p), known = logical_and(eq(p.x, 0), isnan(p.y));
  const Tensor im = where(known, full_like(p.x, M_PI_2), mul(atan2(imag(minus), real(plus)), 2));
  return complex(where(end, full_like(p.x, HUGE_VAL), asinh(real(mul(conj(minus), plus)))), where(end, atan2(p.y, p.x), im));
}
static Tensor area_tangent(const Tensor& z) {
  const Arg a[] = {z};
  const RealAndImaginary p(a);
  const Tensor x = abs(p.x), below = add(square(sub(1, x)), square(p.y));
  const Tensor end = infinite(p), known = logical_or(end, logical_and(eq(p.x, 0), isnan(p.y)));
  const Tensor quarter = where(isnan(p.y), p.y, copysign(full_like(p.y, M_PI_2), p.y));
  const Tensor im = mul(atan2(mul(p.y, 2), sub(mul(sub(1, x), add(x, 1)), square(p.y))), 0.5);
  return complex(copysign(where(known, zeros_like(x), mul(log1p(div(mul(x, 4), below)), 0.25)), p.x), where(end, quarter, im));
}
Tensor complex_atanh(Args a) {
  return by_slope("atanh", a[ops::atanh_op::arg::self], area_tangent,
                  [](const Tensor& z) { return reciprocal(sub(1, square(z))); });
}
Tensor complex_asinh(Args a) { return over_i(asin(times_i(a[ops::asinh_op::arg::self]))); }
Tensor complex_atan(Args a) { return over_i(atanh(times_i(a[ops::atan_op::arg::self]))); }
Tensor complex_sigmoid(Args a) { return reciprocal(add(exp(neg(a[ops::sigmoid_op::arg::self])), 1)); }
Tensor complex_sign(Args a) {
  const Tensor& z = a[ops::sign_op::arg::self];
  return where(eq(z, 0), z, div(z, abs(z)));
}

Tensor complex_exp2(Args a) { return exp(scaled(a[ops::exp2_op::arg::self], 0.6931471805599453)); }
Tensor complex_ldexp(Args a) { return mul(a[ops::ldexp_op::arg::self], exp2(a[ops::ldexp_op::arg::other])); }
Tensor complex_silu(Args a) { return mul(a[ops::silu_op::arg::self], sigmoid(a[ops::silu_op::arg::self])); }
Tensor complex_softsign(Args a) { return div(a[ops::softsign_op::arg::self], add(abs(a[ops::softsign_op::arg::self]), 1)); }
Tensor complex_tanhshrink(Args a) { return sub(a[ops::tanhshrink_op::arg::self], tanh(a[ops::tanhshrink_op::arg::self])); }
Tensor complex_sinc(Args a) {
  const Tensor &z = a[ops::sinc_op::arg::self], zero = eq(z, 0), turn = mul(where(zero, ones_like(z), z), M_PI);
  return where(zero, ones_like(z), div(sin(turn), turn));
}
Tensor complex_isreal(Args a) { return eq(imag(a[ops::isreal_op::arg::self]), 0); }
Tensor complex_logical_and(Args a) {
  return logical_and(ne(a[ops::logical_and_op::arg::self], 0), ne(a[ops::logical_and_op::arg::other], 0));
}
Tensor complex_logical_or(Args a) {
  return logical_or(ne(a[ops::logical_or_op::arg::self], 0), ne(a[ops::logical_or_op::arg::other], 0));
}
Tensor complex_logical_xor(Args a) {
  return ne(ne(a[ops::logical_xor_op::arg::self], 0), ne(a[ops::logical_xor_op::arg::other], 0));
}

// The parts by themselves; nothing flows to a number that was replaced.
Tensor complex_nan_to_num(Args a) {
  const Tensor& z = a[ops::nan_to_num_op::arg::self];
  const auto number = [&](const Tensor& part) {
    return nan_to_num(part, a[ops::nan_to_num_op::arg::nan], a[ops::nan_to_num_op::arg::posinf],
                      a[ops::nan_to_num_op::arg::neginf]);
  };
  return where(isfinite(z), z, complex(number(real(z).detach()), number(imag(z).detach())));
}

// log(exp(a) + exp(b)) from the one with the larger real part; two infinities that are equal have no difference.
Tensor complex_logaddexp(Args args) {
  const DType common = result_type(args, 2);
  const std::vector<Tensor> both = broadcast_tensors(
      std::vector{to(args[ops::logaddexp_op::arg::self], common), to(args[ops::logaddexp_op::arg::other], common)});
  const Tensor &a = both[0], &b = both[1], first = ge(real(a), real(b));
  const Tensor large = where(first, a, b), less = sub(where(first, b, a), large);
  const Tensor endless = logical_and(eq(a, b), isinf(a));
  return where(endless, a, add(large, log1p(exp(where(endless, zeros_like(a), less)))));
}
Tensor complex_logsumexp(Args a) {
  const Reduced r("logsumexp", a);
  if (r.count() == 0) return log(sum_of(r, a[ops::logsumexp_op::arg::keepdim]));
  const Tensor largest = r.dims.empty() ? real(r.t).detach() : amax(real(r.t).detach(), r.dims, true);
  const Tensor base = where(isfinite(largest), largest, zeros_like(largest)), powers = exp(sub(r.t, base));
  const Tensor total = log(sum_of({"logsumexp", std::array{Arg(powers), a.arg(ops::logsumexp_op::arg::dim)}.data()},
                                  a[ops::logsumexp_op::arg::keepdim]));
  return add(total, base.reshape(total.sizes()));
}

Tensor complex_pow(Args a) {
  const Tensor &z = a[ops::pow_op::arg::self], &w = a[ops::pow_op::arg::exponent];
  if (w.impl()->flags & kNumber) {  // the powers people write
    const Scalar n = w.item_scalar();
    if (n.imag() == 0 && n.real() == 1) return z.clone();
    if (n.imag() == 0 && n.real() == 2) return square(z);
    if (n.imag() == 0 && n.real() == 3) return mul(square(z), z);
    if (n.imag() == 0 && n.real() == 0.5) return sqrt(z);
    if (n.imag() == 0 && n.real() == -1) return reciprocal(z);
  }
  const DType common = result_type(a, 2);
  const Tensor base = to(z, common), zero = eq(base, 0), safe = where(zero, ones_like(base), base);
  const Tensor power = exp(mul(w, log(safe)));
  // Of zero: 1 to the power 0, else by the exponent's real part 0, infinity or nothing that is a number.
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor re = real(w), below = where(lt(re, 0), scalar_tensor({inf, nan}), scalar_tensor({nan, nan}));
  const Tensor edge = where(eq(w, 0), scalar_tensor(1), where(gt(re, 0), scalar_tensor(0), below));
  return where(zero, to(edge, common), power);
}

}  // namespace dyadic::inline v1
