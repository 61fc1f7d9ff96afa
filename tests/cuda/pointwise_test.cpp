// Every pointwise op and gradient on a device against the host, bit for bit (Note: which NaN is another matter): special
// values, odd sizes, rows and columns that repeat, strides, numbers, mixed dtypes, results that are written in place.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "corridor/call.h"
#include "dyadic/dyadic.h"
#include "tests/cuda/of_the_library.h"
#include "tests/cuda/on_device.h"

namespace dyadic {
namespace {

bool same_numbers(const Tensor& far, const Tensor& here, bool near) {
  const Tensor a = far.cpu().contiguous(), b = here.contiguous();
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  if (std::memcmp(a.data_ptr(), b.data_ptr(), size_t(a.nbytes())) == 0) return true;
  if (a.dtype().is_complex()) return same_numbers(view_as_real(a), view_as_real(b), near);
  if (!a.dtype().is_floating_point()) return false;
  const size_t size = size_t(a.dtype().itemsize());
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = [&](const Tensor& t) { return static_cast<const char*>(t.data_ptr()) + i * size; };
    if ((std::isnan(x[i]) && std::isnan(y[i])) || std::memcmp(at(a), at(b), size) == 0) continue;
    // Bessel functions of large numbers are good to 5e-12 of 1 there, says the CUDA C++ Programming Guide.
    const double most = a.dtype() == f64 ? 5e-12 * std::max(1.0, std::abs(y[i])) : 1e-5 * std::abs(y[i]);
    if (!near || !(std::abs(x[i] - y[i]) <= most)) return false;
  }
  return true;
}

class CudaPointwise : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    manual_seed(11);
  }
  const NoGrad guard;
  int compared = 0;

  // Numbers of dtype d: those between low and high, and of floats the special ones. Whole ones are positive, so that none
  // divides by zero.
  Tensor numbers(const OpDef& op, DType d, IntList sizes) {
    if (d.is_complex()) return call(Op::complex_, numbers(op, d.to_real(), sizes), numbers(op, d.to_real(), sizes));
    if (d == boolean) return rand(sizes) > 0.5;
    if (!d.is_floating_point()) return (rand(sizes) * 90 + 1).to(d);
    const Tensor t = (rand(sizes, f64) * (op.high - op.low) + op.low).contiguous();
    constexpr double kSpecial[] = {0.0,   -0.0,   1,    -1,    0.5,    2,   INFINITY, -INFINITY, NAN,
                                   1e-45, -1e-40, 3e38, 1e300, 5e-324, 100, -88,      1e6};
    if (double* x = t.data_ptr<double>(); t.numel() > 60)
      for (int64_t i = 0; i < t.numel(); i += 3) x[i] = kSpecial[size_t(i * 7 + i / 50) % std::size(kSpecial)];
    return t.to(d);
  }
  // The host asks whether a whole vector's exponents are 2, 3 ... and has other last bits where only some are.
  Tensor operand(Op op, DType d, IntList sizes, int k) {
    if (op == Op::pow_ && k > 0 && !d.is_complex() && d.is_floating_point()) return full(sizes, 1.7, d);
    return numbers(op_def(op), d, sizes);
  }

  static std::vector<Arg> arguments(const std::vector<Tensor>& inputs, const std::vector<Scalar>& params) {
    std::vector<Arg> args(inputs.begin(), inputs.end());
    args.insert(args.end(), params.begin(), params.end());
    return args;
  }
  static std::vector<Scalar> params_of(const OpDef& op, DType d) {
    const Scalar p = d.is_floating_point() || d.is_complex() ? Scalar(0.7) : Scalar(int64_t(3));
    return std::vector<Scalar>(size_t(op.pw.params), p);
  }
  // Moves tensors with dimensions; a number stays where it is.
  std::vector<Tensor> moved(const std::vector<Tensor>& inputs, bool numbers) const {
    std::vector<Tensor> far;
    for (const Tensor& t : inputs) {
      if (!t.defined() || (numbers && t.dim() == 0)) {
        far.push_back(t);
        continue;
      }
      const Tensor dense = t.is_contiguous() ? t : t.t();  // as it lies
      far.push_back(t.is_contiguous() ? dense.to(there) : dense.to(there).t());
    }
    return far;
  }
  // False: the host does not take these dtypes.
  bool compare(Op op, const std::vector<Tensor>& inputs, const std::vector<Scalar>& params, DType gives, bool near,
               const std::string& what, bool numbers = false) {
    const auto run = [&](const std::vector<Tensor>& in) {
      std::vector<Arg> args = arguments(in, params);
      if (gives) args.push_back(gives);
      Tensor out;
      call_op(op, args.data(), int(args.size()), &out);
      return out;
    };
    Tensor here;
    try {
      here = run(inputs);
    } catch (const TypeError&) { return false; }
    EXPECT_TRUE(same_numbers(run(moved(inputs, numbers)), here, near)) << op_name(op) << " " << what;
    ++compared;
    return true;
  }
  void compare_gradients(Op op, const std::vector<Tensor>& inputs, DType d, bool near, const std::string& what) {
    const OpDef& def = op_def(op);
    std::vector<Arg> args = arguments(inputs, params_of(def, d));
    Tensor y;
    call_op(op, args.data(), int(args.size()), &y);
    const bool complex = d.is_complex();
    for (int k = 0; k < def.pw.inputs; ++k) {
      if (!def.pw.has_grad(k) || (complex && !def.pw.in(Compute::c64))) continue;
      std::vector<Tensor> all = {numbers(def, y.dtype(), y.sizes())};
      all.insert(all.end(), inputs.begin(), inputs.end());
      all.push_back(y);
      compare(gradient_op(op, k), all, params_of(def, d), d, near, what + ", input " + std::to_string(k));
    }
  }
};

TEST_F(CudaPointwise, HasTheHostsBits) {
  const std::vector<std::vector<int64_t>> odd(3, {203}), rows = {{6, 32}, {32}, {6, 1}}, parts = {{5, 1, 7}, {3, 1}, {1}};
  for (int id = 0; id < kOps; ++id) {
    const Op op = Op(id);
    const OpDef& def = op_def(op);
    if (def.kind != OpKind::pointwise) continue;
    for (const DType d : {f32, bf16, f16, f64, i32, i64, u64, u8, i16, boolean, c64, c128, f8e4m3fn}) {
      const bool near = is_of_the_library(op, d);
      if (!d.is_floating_point() && !d.is_complex() && def.types == Types::float_out && d != i32) continue;
      for (const auto* shapes : {&odd, &rows, &parts}) {
        if (shapes != &odd && def.pw.inputs == 1) continue;
        std::vector<Tensor> inputs;
        for (int k = 0; k < def.pw.inputs; ++k) inputs.push_back(operand(op, d, (*shapes)[size_t(k)], k));
        const std::string what = d.name() + (shapes == &odd ? "" : shapes == &rows ? ", rows" : ", parts");
        if (!compare(op, inputs, params_of(def, d), DType(), near, what)) break;
        // Gradients multiply what Bessel functions of f64 are off by with 1e300: the op suite's are of usual numbers.
        const bool far_off = near && d == f64 && std::string_view(op_name(op)).starts_with("bessel");
        const bool differentiable = (d.is_floating_point() || d.is_complex()) && !far_off;
        if (differentiable && shapes == &odd && def.types != Types::compare) compare_gradients(op, inputs, d, near, what);
      }
    }
  }
  EXPECT_GT(compared, 2500);
}

TEST_F(CudaPointwise, ReadsWhatLiesAnywhere) {
  for (const Op op : {Op::add_, Op::where_, Op::gelu_, Op::eq_, Op::bitwise_xor_})
    for (const DType d : {f32, bf16, f64, u8, i64}) {
      const OpDef& def = op_def(op);
      std::vector<Tensor> turned, behind, ahead, wide;
      for (int k = 0; k < def.pw.inputs; ++k) {
        turned.push_back(k % 2 ? numbers(def, d, {16, 24}) : numbers(def, d, {24, 16}).t());
        behind.push_back(numbers(def, d, {130}));
        wide.push_back(k % 2 ? numbers(def, d, {2, 3, 4, 1, 5}) : numbers(def, d, {3, 1, 6, 5}));
      }
      if (!compare(op, turned, params_of(def, d), DType(), false, d.name() + ", turned")) continue;
      compare(op, wide, params_of(def, d), DType(), false, d.name() + ", wide");
      std::vector<Tensor> far;
      for (Tensor& t : behind) far.push_back(slice(t.to(there), 0, 1)), t = slice(t, 0, 1);  // no 16 bytes are aligned
      std::vector<Arg> args = arguments(behind, params_of(def, d)), far_args = arguments(far, params_of(def, d));
      Tensor here, result;
      call_op(op, args.data(), int(args.size()), &here);
      call_op(op, far_args.data(), int(far_args.size()), &result);
      EXPECT_TRUE(same_numbers(result, here, false)) << op_name(op) << " " << d.name() << ", not aligned";
      std::vector<Tensor> none(size_t(def.pw.inputs), zeros({0, 3}, d));
      compare(op, none, params_of(def, d), DType(), false, d.name() + ", empty");
    }
}

TEST_F(CudaPointwise, TakesNumbersAndMixedDtypes) {
  for (const Op op : {Op::add_, Op::mul_, Op::div_, Op::eq_, Op::lt_, Op::maximum_, Op::pow_, Op::logical_and_}) {
    const OpDef& def = op_def(op);
    for (const DType d : {f32, bf16, f16, f64, i32, u8, f8e5m2})
      for (const double number : {0.3, 2.0}) {
        const Tensor t = operand(op, d, {77}, 0);
        compare(op, {t, full({}, number, f64)}, {}, DType(), false, d.name() + " and a number", true);
        compare(op, {t, full({}, number, f64)}, {}, DType(), false, d.name() + " and a number there");
        if (op != Op::pow_) compare(op, {full({}, number, f64), t}, {}, DType(), false, "a number and " + d.name(), true);
      }
    if (op == Op::pow_) continue;
    for (const auto& [a, b] :
         {std::pair{bf16, f32}, {f32, i64}, {boolean, f16}, {f16, bf16}, {f64, f32}, {i32, i64}, {c64, f32}, {u8, i8}})
      for (const int64_t n : {64, 205})
        compare(op, {numbers(def, a, {n}), numbers(def, b, {n})}, {}, DType(), false, a.name() + " and " + b.name());
  }
}

TEST_F(CudaPointwise, WritesInPlaceAndElsewhere) {
  for (const DType d : {f32, bf16, i32, f64}) {
    const Tensor t = numbers(op_def(Op::add_), d, {12, 40}), far = t.to(there), other = numbers(op_def(Op::add_), d, {12, 1});
    t.mul_(other), far.mul_(other.to(there));
    EXPECT_TRUE(same_numbers(far, t, false)) << d.name();
    slice(t, 1, 8, 24).neg_(), slice(far, 1, 8, 24).neg_();
    t.t().add_(other.view({12})), far.t().add_(other.view({12}).to(there));
    EXPECT_TRUE(same_numbers(far, t, false)) << d.name();
  }
  const Tensor x = randn({33, 5}), out = zeros({33, 5}, f16), far_out = zeros({33, 5}, f16, there);
  call_out(Op::exp_, out, x), call_out(Op::exp_, far_out, x.to(there));
  EXPECT_TRUE(same_numbers(far_out, out, false));
  const Tensor small = zeros({40}, f8e4m3fn, there), here = zeros({40}, f8e4m3fn), y = randn({40});
  call_out(Op::tanh_, small, y.to(there)), call_out(Op::tanh_, here, y);
  EXPECT_TRUE(same_numbers(small, here, false));
}

}  // namespace
}  // namespace dyadic
