// What programs for libtorch write, in its spelling.
#include <dyadic/dyadic.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <sstream>

namespace dyadic {
namespace {

using Values = std::vector<double>;

template <class F> std::string refusal(F&& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

TEST(LibtorchNames, AssigningToAViewWrites) {
  const Tensor x = zeros({2, 2}), row = tensor({1., 2.});
  x[0] = row;
  x.index({1, 0}) = 7;
  x.index({1, Slice(1, None)}) = row[1];
  EXPECT_EQ(x.to_vector(), (Values{1, 2, 7, 2}));
  x[1] = x[0];
  EXPECT_EQ(x.to_vector(), (Values{1, 2, 1, 2}));
  Tensor y = x;
  y = row;  // a name, not a view: it only names another tensor
  EXPECT_EQ(x.to_vector(), (Values{1, 2, 1, 2}));
  EXPECT_THROW(x.index({x > 1}) = 0, Error);  // a copy: nobody would see it
  EXPECT_THROW(x[0] = Tensor(), Error);
  EXPECT_THROW(x[0] = ones({3}), Error);

  Tensor leaf = ones({2}).requires_grad_(), z = leaf * 1;
  z[0] = leaf[1] * 5;
  z.sum().backward();
  EXPECT_EQ(leaf.grad().to_vector(), (Values{0, 6}));
}

TEST(LibtorchNames, Indices) {
  const Tensor x = arange(24).reshape({2, 3, 4});
  EXPECT_EQ(x.index({"...", 0}).sizes(), IntList({2, 3}));
  EXPECT_EQ(x.index({Ellipsis, 1}).to_vector(), x.select(2, 1).to_vector());
  EXPECT_EQ(x.index({None, 0, indexing::Slice(None, None, 2)}).sizes(), IntList({1, 2, 4}));
  EXPECT_EQ(x.index({size_t(1)}).sizes(), IntList({3, 4}));
  EXPECT_EQ(x.index({true}).dim(), 4);
  EXPECT_EQ(refusal([&] { x.index({"..", 0}); }),
            "index: a text is no index: \"..\"; only \"...\", the other dimensions, is one");
  static_assert(!std::is_convertible_v<const char*, Scalar>);
  static_assert(!std::is_constructible_v<Index, void*>);
}

TEST(LibtorchNames, TensorsFromNumbers) {
  const Tensor m = tensor({{1., 2.}, {3., 4.}});
  EXPECT_EQ(m.sizes(), IntList({2, 2}));
  EXPECT_EQ(m.to_vector(), (Values{1, 2, 3, 4}));
  EXPECT_EQ(m.dtype(), f32);
  EXPECT_EQ(tensor({1, 2}).dtype(), i64);
  EXPECT_EQ(tensor({1, 2.5}).dtype(), f32);
  EXPECT_EQ(tensor({true, false}).dtype(), boolean);
  EXPECT_EQ(tensor({std::complex<double>(1, 2)}).dtype(), c64);
  EXPECT_EQ(tensor(5).dim(), 0);
  EXPECT_EQ(tensor({}).sizes(), IntList({0}));
  EXPECT_EQ(tensor({{}, {}}).sizes(), IntList({2, 0}));
  EXPECT_EQ(tensor({{{1}}}).dim(), 3);
  const int64_t large = (int64_t(1) << 53) + 1;
  EXPECT_EQ(tensor({large}).item<int64_t>(), large);
  EXPECT_EQ(tensor({uint64_t(-1)}, u64).item<uint64_t>(), uint64_t(-1));
  EXPECT_THROW(tensor({uint64_t(-1)}), Error);
  {
    const DefaultDType f64_scope(f64);
    EXPECT_EQ(tensor({1.f}).dtype(), f64);
  }
  EXPECT_EQ(tensor({1, 2}, f16).dtype(), f16);
  EXPECT_EQ(refusal([] { tensor({{1, 2}, {3}}); }),
            "tensor: rows of different lengths: one of 1 at depth 1 does not fit [2, 2]");
  EXPECT_THROW(tensor({{1, 2}, 3}), ValueError);
  EXPECT_THROW(tensor({1, {2}}), ValueError);

  const std::vector<int> ints{1, 2};
  EXPECT_EQ(tensor(ints).dtype(), i64);
  EXPECT_EQ(tensor(std::vector<double>{0.1}).dtype(), f32);
  EXPECT_EQ(tensor(std::vector<double>{0.1}, f64).item(), 0.1);
  EXPECT_EQ(tensor(std::span<const int>(ints)).to_vector(), (Values{1, 2}));
  EXPECT_EQ(tensor(std::array{1.f, 2.f}).to_vector(), (Values{1, 2}));
  EXPECT_EQ(tensor(std::vector<bool>{true, false}).dtype(), boolean);
  float memory[] = {1, 2};
  from_blob(memory, {2}).mul_(2);
  EXPECT_EQ(memory[1], 4);
}

TEST(LibtorchNames, ItemLosesNothing) {
  const Tensor most = full({}, Scalar(uint64_t(-1)), u64);
  EXPECT_EQ(most.item(), 0x1p64);
  EXPECT_EQ(most.item<uint64_t>(), uint64_t(-1));
  EXPECT_THROW(most.item<int64_t>(), Error);
  EXPECT_THROW(tensor(-1).item<uint8_t>(), Error);
  EXPECT_THROW(tensor(300).item<uint8_t>(), Error);
  EXPECT_EQ(tensor(-128).item<int8_t>(), -128);
  EXPECT_EQ(tensor(2.7).item<int>(), 2);
  EXPECT_EQ(tensor(0.5).item<bool>(), true);
  EXPECT_THROW(tensor(NAN).item<int64_t>(), Error);
  EXPECT_THROW(tensor(0x1p63).item<int64_t>(), Error);
  EXPECT_EQ(tensor(-0x1p63).item<int64_t>(), std::numeric_limits<int64_t>::min());
  EXPECT_THROW(tensor(1e300, f64).item<float>(), Error);
  EXPECT_TRUE(std::isinf(tensor(INFINITY).item<float>()));
  const Tensor z = tensor(std::complex<double>(1, 2));
  EXPECT_THROW(z.item(), Error);
  EXPECT_EQ(z.item<std::complex<double>>(), std::complex<double>(1, 2));
  EXPECT_EQ(refusal([] { tensor(300).item<uint8_t>(); }),
            "Scalar: value cannot be converted to an integer from 0 to 255 without overflow: it is 300");
}

TEST(LibtorchNames, Operators) {
  Tensor x = tensor({1., 2., 3.});
  EXPECT_EQ((x == 2).to_vector(), (Values{0, 1, 0}));
  EXPECT_EQ((2 <= x).to_vector(), (Values{0, 1, 1}));
  EXPECT_EQ((x != x.flip(0)).to_vector(), (Values{1, 0, 1}));
  EXPECT_EQ(((x > 1) & ~(x >= 3)).to_vector(), (Values{0, 1, 0}));
  EXPECT_EQ(((x < 2) | (x > 2)).to_vector(), (Values{1, 0, 1}));
  EXPECT_EQ((x % 2).to_vector(), (Values{1, 0, 1}));
  const Tensor same = x;
  x += 1, x *= x, x -= tensor({4., 9., 16.}) - 1, x /= 2;
  EXPECT_EQ(same.to_vector(), (Values{0.5, 0.5, 0.5}));
  std::ostringstream out;
  out << tensor({1, 2});
  EXPECT_EQ(out.str(), "tensor([1, 2])");
}

TEST(LibtorchNames, ListsAndSizesInBraces) {
  const Tensor a = ones({2}), b = zeros(2);
  EXPECT_EQ(cat({a, b}).to_vector(), (Values{1, 1, 0, 0}));
  EXPECT_EQ(stack({a, b}, 1).sizes(), IntList({2, 2}));
  EXPECT_EQ(cat(std::vector{a, b}).size(0), 4);
  EXPECT_EQ(einsum("i,i->", {a, a}).item(), 2);
  Tensor x = tensor({1., 2.}).requires_grad_(), y = (x * x).sum();
  EXPECT_EQ(grad({y}, {x}, {}, true)[0].to_vector(), (Values{2, 4}));
  backward({y});
  EXPECT_EQ(x.grad().to_vector(), (Values{2, 4}));
  EXPECT_EQ(ones({2, 3}).sum(1).to_vector(), (Values{3, 3}));
  EXPECT_EQ(ones({2, 3}).mean(-1, true).sizes(), IntList({2, 1}));
}

TEST(LibtorchNames, FunctionsAndMethods) {
  const Tensor x = tensor({{1., 5.}, {3., 2.}});
  EXPECT_EQ(max(x).item(), 5);
  EXPECT_EQ(x.min().item(), 1);
  EXPECT_EQ(x.max(full({2, 2}, 3)).to_vector(), (Values{3, 5, 3, 3}));
  EXPECT_TRUE(x.equal(x.clone()) && !equal(x, x + 1) && !equal(x, x[0]));
  EXPECT_TRUE(allclose(x, x + 1e-9) && !x.allclose(x + 1));
  EXPECT_EQ(x.T().to_vector(), (Values{1, 3, 5, 2}));
  EXPECT_EQ(x.mT().sizes(), x.H().sizes());
  EXPECT_EQ(x.to(f64).new_zeros({3}).dtype(), f64);
  EXPECT_EQ(x.new_full({2}, 4, i64).to_vector(), (Values{4, 4}));
  EXPECT_EQ(x.new_ones(2).numel() + x.new_empty({1}).numel(), 3);
  EXPECT_EQ(x.type_as(tensor(1)).dtype(), i64);
  EXPECT_EQ(x.element_size(), 4);
  EXPECT_EQ(where(x > 2, x, 0).to_vector(), (Values{0, 5, 3, 0}));
  EXPECT_EQ(where(x > 2, 1., 0.).dtype(), f32);
  EXPECT_EQ(where(x > 2).size(), 2u);
  EXPECT_EQ(x.clamp(2).to_vector(), (Values{2, 5, 3, 2}));
  EXPECT_EQ(x.add(x, 2).to_vector(), (Values{3, 15, 9, 6}));
  EXPECT_EQ(x.clone().sub_(x, 1).sum().item(), 0);
  EXPECT_EQ(get_num_threads(), num_threads());

  Tensor v = ones({1, 2, 1});
  v.squeeze_(2);
  EXPECT_EQ(v.t_().unsqueeze_(0).transpose_(0, 1).sizes(), IntList({2, 1, 1}));
  EXPECT_EQ(v.squeeze_().sizes(), IntList({2}));
  EXPECT_THROW(ones({1}).requires_grad_().squeeze_(), Error);
  Tensor leaf = ones({2}).requires_grad_(), y = leaf * 2;
  y.register_hook([](const Tensor& g) { return g * 10; });
  y.sum().backward();
  EXPECT_EQ(leaf.grad().to_vector(), (Values{20, 20}));
  EXPECT_TRUE(y.detach_().is_leaf() && !y.requires_grad());

  Generator one(3), other(3);
  EXPECT_TRUE(equal(randn({4}, one), randn({4}, other)));
  EXPECT_FALSE(equal(randn({4}, one), rand({4}, one)));
  {
    const InferenceMode guard;
    EXPECT_TRUE(InferenceMode::is_enabled() && !GradMode::is_enabled());
    EXPECT_FALSE((leaf * 2).requires_grad());
    const InferenceMode ordinary(false);
    EXPECT_TRUE(GradMode::is_enabled());
    const NoGradGuard off;
    EXPECT_FALSE((leaf * 2).requires_grad());
  }
}

TEST(LibtorchNames, InterpolateFillsItsDefaults) {
  const Tensor x = arange(4, f32).reshape({1, 1, 4});
  EXPECT_EQ(interpolate(x, {2}).to_vector(), (Values{0, 2}));
  EXPECT_EQ(interpolate(x, {}, 2.0).size(2), 8);
}

TEST(LibtorchNames, SizesThatOverflowAreErrors) {
  constexpr int64_t k60 = int64_t(1) << 60, kMost = std::numeric_limits<int64_t>::max();
  const Tensor x = arange(8);
  EXPECT_THROW(x.as_strided({17}, {k60}), Error);
  EXPECT_THROW(x.as_strided({int64_t(1) << 62, 4}, {4, 1}), Error);
  EXPECT_THROW(x.as_strided({3, 3}, {int64_t(1) << 62, int64_t(1) << 62}), Error);
  EXPECT_THROW(x.as_strided({2}, {0}, kMost), Error);
  EXPECT_THROW(ones({1}).expand({int64_t(1) << 40, int64_t(1) << 40}), ValueError);
  EXPECT_THROW(ones({1}).broadcast_to({(int64_t(1) << 33) + 1, int64_t(1) << 31}), ValueError);
  EXPECT_THROW(x.narrow(0, 3, kMost), Error);
  EXPECT_THROW(combinations(arange(100), 50), ValueError);
  EXPECT_EQ(combinations(arange(4), 2, true).sizes(), IntList({10, 2}));
  EXPECT_EQ(combinations(arange(2), 3).sizes(), IntList({0, 3}));
  EXPECT_THROW(arange(std::numeric_limits<int64_t>::min(), kMost, 1), ValueError);
}

}  // namespace
}  // namespace dyadic
