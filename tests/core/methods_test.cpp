// The methods of Tensor are the free functions, in place and into given tensors too.
#include <dyadic/dyadic.h>
#include <gtest/gtest.h>

#include <cmath>

namespace dyadic {
namespace {

TEST(Methods, AreTheFunctions) {
  const Tensor x = (arange(12, f32) - 5).reshape({3, 4});
  EXPECT_EQ(x.sum().item(), 6);
  EXPECT_EQ(x.sum({1}, true).to_vector(), (std::vector<double>{-14, 2, 18}));
  EXPECT_EQ(x.relu().square().mean().item(), mean(square(relu(x))).item());
  EXPECT_EQ(x.narrow(1, 1, 2).to_vector(), narrow(x, 1, 1, 2).to_vector());
  EXPECT_EQ(x.sort(0, true).values.select(0, 0).to_vector(), (std::vector<double>{3, 4, 5, 6}));
  EXPECT_EQ(x.max(1).indices.to_vector(), (std::vector<double>{3, 3, 3}));
  EXPECT_EQ(x.aminmax().max.item(), 6);
  EXPECT_EQ(x.matmul(x.t()).det().dim(), 0);
  EXPECT_EQ(x.split(2, 1).size(), 2u);
  EXPECT_EQ(x.pow(2).add(1).div(2).flatten().size(0), 12);
  EXPECT_EQ(x.std({0}, 0).dim(), 1);
  EXPECT_EQ(randint(3, {5}).dtype(), i64);
}

TEST(Methods, WriteInPlace) {
  Tensor x = arange(4, f32) - 2;
  const uint32_t version = x.version();
  x.relu_().sub_(1).clamp_(0, 5).pow_(2);
  EXPECT_EQ(x.to_vector(), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(x.version(), version + 4);
  EXPECT_THROW(arange(4).exp_(), Error);  // floats do not become integers

  Tensor leaf = tensor({1., 2}).requires_grad_(), y = leaf * 3;
  y.mul_(leaf).sin_();
  y.sum().backward();
  EXPECT_NEAR(leaf.grad().to_vector()[1], std::cos(12) * 12, 1e-4);
}

TEST(Methods, WriteIntoGivenTensors) {
  Tensor out = empty({0});
  add_out(out, tensor({1., 2}), tensor({3., 4}));
  EXPECT_EQ(out.to_vector(), (std::vector<double>{4, 6}));
  sum_out(out, out, {0}, true);  // read before it gets another shape
  EXPECT_EQ(out.to_vector(), (std::vector<double>{10}));
  cumsum_out(out, tensor({1., 2, 3}), 0);
  EXPECT_EQ(out.to_vector(), (std::vector<double>{1, 3, 6}));
}

}  // namespace
}  // namespace dyadic
