// Pointwise ops where the op suite's oracle, the same op in f64, says nothing: integers, bool, and arguments that choose
// another op.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dyadic/autograd.h"
#include "dyadic/ops.h"

namespace dyadic {
namespace {

using Values = std::vector<double>;
Tensor whole(std::initializer_list<double> v, DType d = i64) { return tensor(v, d); }

TEST(Pointwise, IntegerDivisionRoundsAsNamed) {
  const Tensor a = whole({7, -7, 7, -7}), b = whole({2, 2, -2, -2});
  EXPECT_EQ(floor_divide(a, b).to_vector(), (Values{3, -4, -4, 3}));
  EXPECT_EQ(trunc_divide(a, b).to_vector(), (Values{3, -3, -3, 3}));
  EXPECT_EQ(remainder(a, b).to_vector(), (Values{1, 1, -1, -1}));
  EXPECT_EQ(fmod(a, b).to_vector(), (Values{1, -1, 1, -1}));
  EXPECT_EQ(floor_divide(a, b).dtype(), i64);
  const double lowest = double(std::numeric_limits<int32_t>::min());
  EXPECT_EQ(floor_divide(whole({lowest}, i32), whole({-1}, i32)).to_vector(), (Values{lowest}));  // it wraps
}

TEST(Pointwise, IntegersByZeroFail) {
  const Tensor a = whole({7, 5}), zeros = whole({2, 0});
  for (auto divide : {+[](const Tensor& x, const Tensor& y) { return floor_divide(x, y); },
                      +[](const Tensor& x, const Tensor& y) { return trunc_divide(x, y); },
                      +[](const Tensor& x, const Tensor& y) { return remainder(x, y); },
                      +[](const Tensor& x, const Tensor& y) { return fmod(x, y); }}) {
    EXPECT_THROW(divide(a, zeros), Error);
    EXPECT_THROW(divide(a, scalar_tensor(0)), Error);
    EXPECT_NO_THROW(divide(a, slice(zeros, 0, 0, 1)));
    EXPECT_NO_THROW(divide(to(a, f32), zeros));
    EXPECT_NO_THROW(divide(a.to(meta), zeros.to(meta)));
  }
  EXPECT_THROW(call(Op::div_, a, zeros, std::string_view("floor")), Error);
  EXPECT_THROW(call_inplace(Op::floor_divide_, a, zeros), Error);
  EXPECT_EQ(a.to_vector(), (Values{7, 5}));
}

TEST(Pointwise, TheNextValueIsThatOfTheDtype) {
  const float inf = std::numeric_limits<float>::infinity(), x[] = {1, 1, 0, -0.0f, 3.5f, inf, -1, 2, NAN};
  const float y[] = {2, 0, -1, 1, inf, 0, 0, 2, 1};
  const Tensor n = nextafter(from_data(x, {9}, f32), from_data(y, {9}, f32));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(n.data<float>()[i], std::nextafterf(x[i], y[i])) << i;
  EXPECT_TRUE(std::isnan(n.data<float>()[8]));
  EXPECT_EQ(nextafter(tensor({1.0}, bf16), tensor({2.0}, bf16)).item<double>(), 1.0078125);
  EXPECT_EQ(nextafter(tensor({0.0}, f8e4m3fnuz), tensor({-1.0}, f8e4m3fnuz)).item<double>(), -0x1p-10);
  EXPECT_EQ(nextafter(tensor({-0x1p-10}, f8e4m3fnuz), tensor({1.0}, f8e4m3fnuz)).item<double>(), 0);
  const Tensor column = reshape(from_data(x, {9}, f32), {9, 1}), row = transpose(reshape(from_data(y, {9}, f32), {9, 1}), 0, 1);
  const Tensor all = nextafter(column, row);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) EXPECT_EQ(all.data<float>()[i * 9 + j], std::nextafterf(x[i], y[j])) << i << " " << j;
}

TEST(Pointwise, FrexpTakesNumbersApart) {
  const double x[] = {3, -0.1, 0, 0x1p-1074, -0x1.8p1023, HUGE_VAL, 1};
  const Frexp parts = frexp(from_data(x, {7}, f64));
  EXPECT_EQ(parts.exponent.dtype(), i32);
  for (int i = 0; i < 7; ++i) {
    int e = 0;
    EXPECT_EQ(parts.mantissa.data<double>()[i], std::frexp(x[i], &e)) << i;
    EXPECT_EQ(parts.exponent.data<int32_t>()[i], std::isfinite(x[i]) ? e : 0) << i;
  }
  const Frexp half = frexp(tensor({0x1p-24, 6.0}, f16));
  EXPECT_EQ(half.mantissa.to_vector(), (Values{0.5, 0.75}));
  EXPECT_EQ(half.mantissa.dtype(), f16);
  EXPECT_EQ(half.exponent.to_vector(), (Values{-23, 3}));
}

TEST(Pointwise, ShiftsAreThoseOfUnboundedNumbers) {
  const Tensor a = whole({1, -5, 3, 3}), n = whole({4, 1, 64, -1});
  EXPECT_EQ(bitwise_left_shift(a, n).to_vector(), (Values{16, -10, 0, 0}));
  EXPECT_EQ(bitwise_right_shift(whole({16, -5, 3, -3}), n).to_vector(), (Values{1, -3, 0, -1}));
  EXPECT_EQ(bitwise_left_shift(whole({200}, u8), whole({1}, u8)).to_vector(), (Values{144}));
}

TEST(Pointwise, BitsOfBoolAreLogic) {
  const Tensor t = whole({1, 1, 0, 0}, boolean), u = whole({1, 0, 1, 0}, boolean);
  EXPECT_EQ(bitwise_not(t).to_vector(), (Values{0, 0, 1, 1}));
  EXPECT_EQ(bitwise_xor(t, u).to_vector(), (Values{0, 1, 1, 0}));
  EXPECT_EQ(bitwise_not(t).dtype(), boolean);
  EXPECT_EQ(bitwise_not(whole({1}, u8)).to_vector(), (Values{254}));
}

TEST(Pointwise, CommonDivisorsAreNotNegative) {
  const Tensor a = whole({12, -12, 0, 0, 7}), b = whole({18, 18, 5, 0, -7});
  EXPECT_EQ(gcd(a, b).to_vector(), (Values{6, 6, 5, 0, 7}));
  EXPECT_EQ(lcm(a, b).to_vector(), (Values{36, 36, 0, 0, 7}));
  EXPECT_THROW(gcd(tensor({1.0}), tensor({2.0})), TypeError);
}

TEST(Pointwise, IntegerPowersWrapAndRoundTowardZero) {
  EXPECT_EQ(pow(whole({3, 2, -1, 2, 0}), whole({4, 64, 3, -1, 0})).to_vector(), (Values{81, 0, -1, 0, 1}));
  EXPECT_EQ(pow(whole({3}), 0.5).dtype(), f32);
}

TEST(Pointwise, NanToNumTakesTheLargestOfTheDtype) {
  const Tensor x = tensor({NAN, INFINITY, -INFINITY, 2}, f16);
  EXPECT_EQ(nan_to_num(x).to_vector(), (Values{0, 65504, -65504, 2}));
  EXPECT_EQ(nan_to_num(x, 1.0, 3.0).to_vector(), (Values{1, 3, -65504, 2}));
  EXPECT_EQ(nan_to_num(whole({3}, u8)).dtype(), u8);
}

TEST(Pointwise, ClampTakesNumbersAndTensors) {
  const Tensor x = tensor({-2, 0.5, 2}), low = tensor({-1., 1, 3}), high = tensor({1., 0, 4});
  EXPECT_EQ(clamp(x, low, Tensor()).to_vector(), (Values{-1, 1, 3}));
  EXPECT_EQ(clamp(x, Tensor(), high).to_vector(), (Values{-2, 0, 2}));
  EXPECT_EQ(clamp(x, low, high).to_vector(), (Values{-1, 0, 3}));  // the upper bound wins where they cross
  EXPECT_EQ(clamp(whole({-2, 7}), -1, 3).dtype(), i64);
  EXPECT_THROW(clamp(x, Tensor(), Tensor()), Error);
}

TEST(Pointwise, AlphaScalesInPlaceAndInTheGradient) {
  Tensor x = tensor({1., 2}).requires_grad_(), y = tensor({3., 4}).requires_grad_();
  const Tensor sum = call(Op::add_, x, y, Scalar(-2));
  EXPECT_EQ(sum.to_vector(), (Values{-5, -6}));
  const std::vector<Tensor> inputs = {x, y}, g = grad({&sum, 1}, inputs, std::vector<Tensor>{ones({2})});
  EXPECT_EQ(g[0].to_vector(), (Values{1, 1}));
  EXPECT_EQ(g[1].to_vector(), (Values{-2, -2}));
  EXPECT_EQ(tensor({1., 2}).add_(tensor({3., 4}), 0.5).to_vector(), (Values{2.5, 4}));
}

}  // namespace
}  // namespace dyadic
