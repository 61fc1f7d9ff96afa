#include <gtest/gtest.h>

#include "dyadic/dyadic.h"

namespace dyadic {
namespace {

// A chain of a million ops goes forward, backward and out of scope.
TEST(Backward, AMillionOps) {
  const Tensor x = ones({1}).requires_grad_();
  Tensor y = x;
  for (int i = 0; i < 1'000'000; ++i) y = y + x;
  y.backward();
  EXPECT_EQ(x.grad().item(), 1'000'001);
}

}  // namespace
}  // namespace dyadic
