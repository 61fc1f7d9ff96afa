#include "ops/variants.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "corridor/call.h"
#include "dyadic/call.h"
#include "dyadic/ops.h"
#include "ops/demand.h"
#include "tensor/batched.h"

namespace dyadic::inline v1::ops {
namespace {

bool given(const Arg* args, int n, int i) { return i < n && args[i].kind != Arg::Kind::none; }
bool is_number(const Arg& a) { return a.kind == Arg::Kind::tensor && (a.tensor->impl()->flags & kNumber); }
std::string_view text(const Arg& a) { return {a.text, a.n}; }
bool is_float(const Tensor& t) { return t.dtype().is_floating_point() || t.dtype().is_scaled(); }

// self + factor alpha other.
Op scaled(Arg* args, int& n, Op plain, int factor) {
  if (!given(args, n, 2)) {
    n = 2;
    return plain;
  }
  const Scalar alpha = args[2].scalar;
  const bool real = alpha.kind() == Scalar::Kind::real;
  if (alpha.real() == 1 && alpha.imag() == 0) {
    n = 2;
    return plain;
  }
  args[2] = alpha.imag() != 0 ? Scalar(alpha.real() * factor, alpha.imag() * factor)
            : real            ? Scalar(alpha.real() * factor)
                              : Scalar(alpha.integer() * factor);
  return Op::add_scaled_;
}

}  // namespace

namespace {

// Truth values have no difference: a - b of masks is mostly a mistake.
void check_no_mask(const char* who, const Arg& a) {
  DY_CHECK_AS(TypeError, a.tensor->dtype() != boolean,
              "{}: bool has no minus: an operand is {}; use ~ or logical_not, ^ or logical_xor, or convert with .to first", who,
              describe(*a.tensor));
}

}  // namespace

Op add_variant(Arg* args, int& n) { return scaled(args, n, Op::add_, 1); }
Op sub_variant(Arg* args, int& n) {
  for (int i = 0; i < 2; ++i) check_no_mask("sub", args[i]);
  return scaled(args, n, Op::sub_, -1);
}
Op rsub_variant(Arg* args, int& n) {
  for (int i = 0; i < 2; ++i) check_no_mask("rsub", args[i]);
  std::swap(args[0], args[1]);
  return scaled(args, n, Op::sub_, -1);
}

namespace {

// A reduction of self in another dtype: the arguments are self, dim, keepdim, dtype.
Op reduced_in(const Arg* args, int& n, Op plain, Op converted) {
  if (given(args, n, 3) && (args[3].dtype != args[0].tensor->dtype() || args[3].dtype.is_integer())) return converted;
  n = 3;
  return plain;
}

bool holds_zero(const Tensor& t) {
  if (t.is_cuda()) return any(eq(t, 0)).item<bool>();
  const TensorImpl& i = *t.impl();
  const size_t width = size_t(i.dtype.itemsize());
  const char zero[8]{};
  int64_t at[kMaxDims]{}, offset = 0;
  for (int64_t k = 0; k < i.numel; ++k) {
    if (std::memcmp(i.data() + offset * int64_t(width), zero, width) == 0) return true;
    for (int d = i.ndim - 1; d >= 0; --d) {
      offset += i.strides[d];
      if (++at[d] < i.sizes[d]) break;
      offset -= at[d] * i.strides[d];
      at[d] = 0;
    }
  }
  return false;
}

// Whole numbers have no quotient by zero; packed ones (below 8 bits) give 0.
Op whole_division(const Arg* args, Op op) {
  const Tensor &a = *args[0].tensor, &b = *args[1].tensor;
  const bool whole =
      b.dtype().is_integer() && !b.dtype().is_blocked() && !b.is_meta() && !is_float(a) && !a.dtype().is_complex();
  if (!whole) return op;
  const bool number = is_number(args[1]);
  const Tensor divisors[] = {every_entry(b)};
  const auto text = [&] {
    return fmt::format("{}: ZeroDivisionError: integers are divided by zero: other is {}; divide floats, or use where",
                       op_name(op), number ? "0" : describe(b));
  };
  const auto check = [](std::span<const Tensor> of, Said told) { DY_CHECK(!holds_zero(of[0]), "{}", told()); };
  number ? check(divisors, text) : demand(op_name(op), divisors, text, check);
  return op;
}

}  // namespace

Op sum_variant(Arg* args, int& n) { return reduced_in(args, n, Op::sum_, Op::sum_as_); }
Op mean_variant(Arg* args, int& n) { return reduced_in(args, n, Op::mean_, Op::mean_as_); }
Op prod_variant(Arg* args, int& n) { return reduced_in(args, n, Op::prod_, Op::prod_as_); }

Op floor_divide_variant(Arg* args, int&) { return whole_division(args, Op::floor_divide_); }
Op trunc_divide_variant(Arg* args, int&) { return whole_division(args, Op::trunc_divide_); }
Op remainder_variant(Arg* args, int&) { return whole_division(args, Op::remainder_); }
Op fmod_variant(Arg* args, int&) { return whole_division(args, Op::fmod_); }

Op pow_variant(Arg* args, int&) {
  const Tensor &a = *args[0].tensor, &b = *args[1].tensor;
  DY_CHECK(!is_number(args[1]) || !a.dtype().is_integer() || !b.dtype().is_integer() || b.item_scalar().integer() >= 0,
           "pow: an integer to a negative power: the exponent is {}; convert to a floating-point dtype first",
           b.item_scalar().integer());
  return Op::pow_;
}

Op scatter_variant(Arg* args, int& n) {
  const bool reduces = given(args, n, 4);
  n = 4;
  if (!reduces) return Op::scatter_;
  const std::string_view how = text(args[4]);
  DY_CHECK(how == "add" || how == "multiply", "scatter: reduce is \"add\" or \"multiply\": it is \"{}\"", how);
  args[n++] = Arg(std::string_view(how == "add" ? "sum" : "prod"));
  args[n++] = Arg(true);
  return Op::scatter_reduce_;
}

Op div_variant(Arg* args, int& n) {
  const bool rounded = given(args, n, 2);
  n = 2;
  if (!rounded) return Op::div_;
  const std::string_view mode = text(args[2]);
  DY_CHECK_AS(ValueError, mode == "floor" || mode == "trunc",
              "div: unknown rounding_mode: it is '{}'; it may be None, 'trunc' or 'floor'", mode);
  return whole_division(args, mode == "floor" ? Op::floor_divide_ : Op::trunc_divide_);
}

Op round_variant(Arg* args, int& n) {
  const bool whole = !given(args, n, 1) || args[1].integer == 0 || !is_float(*args[0].tensor);
  if (!whole) args[1] = Arg(Scalar(args[1].integer));
  n = whole ? 1 : 2;
  return whole ? Op::round_ : Op::round_decimals_;
}

Op gelu_variant(Arg* args, int& n) {
  const std::string_view how = given(args, n, 1) ? text(args[1]) : "none";
  DY_CHECK_AS(ValueError, how == "none" || how == "tanh", "gelu: unknown approximate: it is '{}'; it may be 'none' or 'tanh'",
              how);
  n = 1;
  return how == "tanh" ? Op::gelu_tanh_ : Op::gelu_;
}

Op logit_variant(Arg* args, int& n) {
  const bool clamped = given(args, n, 1);
  if (clamped) args[1] = Arg(Scalar(args[1].real));
  n = clamped ? 2 : 1;
  return clamped ? Op::logit_clamped_ : Op::logit_;
}

Op clamp_min_variant(Arg* args, int& n) {
  if (!is_number(args[1])) return Op::clamp_min_;
  args[1] = Arg(args[1].tensor->item_scalar());
  return Op::clamp_above_;
}
Op clamp_max_variant(Arg* args, int& n) {
  if (!is_number(args[1])) return Op::clamp_max_;
  args[1] = Arg(args[1].tensor->item_scalar());
  return Op::clamp_below_;
}
Op clamp_variant(Arg* args, int& n) {
  const bool low = given(args, n, 1), high = given(args, n, 2);
  DY_CHECK(low || high, "clamp: no bound: min and max are None; give one of them");
  if (low && high) {
    if (!is_number(args[1]) || !is_number(args[2])) return Op::clamp_tensors_;
    for (int i = 1; i < 3; ++i) args[i] = Arg(args[i].tensor->item_scalar());
    return Op::clamp_between_;
  }
  if (high) args[1] = args[2];
  n = 2;
  return low ? clamp_min_variant(args, n) : clamp_max_variant(args, n);
}

Op nan_to_num_variant(Arg* args, int& n) {
  const Tensor& t = *args[0].tensor;
  const DType d = t.dtype().is_complex() ? t.dtype().to_real() : t.dtype();
  const double largest = d.is_floating_point() ? d.format()->def->max : f32.format()->def->max;
  const Scalar values[] = {Scalar(0.0), Scalar(largest), Scalar(-largest)};
  for (int i = 1; i < 4; ++i) {
    if (!given(args, n, i)) args[i] = Arg(values[i - 1]);
    if (!is_float(t) && !t.dtype().is_complex())
      args[i] = Arg(Scalar(false));  // whole numbers are all finite, and stay what they are
  }
  n = 4;
  return Op::nan_to_num_;
}

namespace {

// Numbers beside whole ones lose their fractions, as in PyTorch; negative ones beside unsigned ones are 0.
Op with_own_numbers(Arg* args, int n, Op op) {
  const DType d = args[0].tensor->dtype();
  for (int i = 1; i < n && (d.is_integer() || d == boolean); ++i)
    if (args[i].kind == Arg::Kind::scalar)
      args[i] = Arg(Scalar(std::max(args[i].scalar.integer(), d.format()->def->kind == Kind::sint ? INT64_MIN : int64_t{0})));
  return op;
}

}  // namespace

Op neg_variant(Arg* args, int&) {
  check_no_mask("neg", args[0]);
  return Op::neg_;
}
Op hardtanh_variant(Arg* args, int& n) { return with_own_numbers(args, n, Op::hardtanh_); }
Op threshold_variant(Arg* args, int& n) { return with_own_numbers(args, n, Op::threshold_); }

Op isclose_variant(Arg* args, int& n) {
  if (n == 5 && args[4].kind == Arg::Kind::boolean) args[4] = Arg(Scalar(args[4].boolean));
  return Op::isclose_;
}

Op bitwise_not_variant(Arg* args, int& n) { return args[0].tensor->dtype() == boolean ? Op::logical_not_ : Op::bitwise_not_; }

}  // namespace dyadic::inline v1::ops
