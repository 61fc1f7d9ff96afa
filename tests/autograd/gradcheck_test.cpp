// gradcheck finds wrong gradients, and says which.
#include <gtest/gtest.h>

#include "dyadic/autograd.h"
#include "dyadic/ops.h"

namespace dyadic {
namespace {

using Tensors = std::vector<Tensor>;

std::string message(const std::vector<Tensor>& inputs, Tensor (*f)(const Tensors&)) {
  try {
    gradcheck([f](const Tensors& x) { return Tensors{f(x)}; }, inputs);
  } catch (const Error& e) { return e.what(); }
  return "right";
}
Tensor leaf(std::initializer_list<double> v) { return tensor(v, f64).requires_grad_(); }

TEST(Gradcheck, RightGradientsPass) {
  EXPECT_EQ(message({leaf({0.5, -2})}, [](const Tensors& x) { return exp(x[0]) * x[0]; }), "right");
  EXPECT_EQ(message({leaf({1, 2, 3}), leaf({4})}, [](const Tensors& x) { return x[0] / x[1]; }), "right");
  EXPECT_EQ(message({leaf({1, 2, 3})}, [](const Tensors& x) { return x[0]; }), "right");  // the output is the input itself
  EXPECT_EQ(message({leaf({2}), tensor({3}, f32)}, [](const Tensors& x) { return x[0] * x[1].to(f64); }), "right");
  Tensor wide = tensor({1, 2, 3, 4, 5, 6}, f64).view({2, 3}).t();
  EXPECT_EQ(message({wide.requires_grad_()}, [](const Tensors& x) { return sum(x[0] * x[0], {0}); }), "right");
}

TEST(Gradcheck, WrongGradientsAreNamed) {
  EXPECT_TRUE(message({leaf({1, 3})}, [](const Tensors& x) {
                return x[0] * x[0].detach();
              }).starts_with("gradcheck: the gradient is wrong: d output 0 [0] / d input 0 [0] is 1 by backward, 2.0000"));
  EXPECT_NE(message({leaf({1}), leaf({1, 2})}, [](const Tensors& x) { return x[0] + exp(x[1]).detach() + x[1]; })
                .find("d input 1 [0]"),
            std::string::npos);
  EXPECT_NE(message({leaf({0.0})}, [](const Tensors& x) { return sqrt(x[0]); }).find("inf by backward"), std::string::npos);
}

TEST(Gradcheck, AsksForWhatItNeeds) {
  EXPECT_EQ(message({tensor({1}, f32).requires_grad_()}, [](const Tensors& x) { return x[0]; }),
            "gradcheck: differences need float64: input 0 is f32[1]; convert with .to(f64)");
  EXPECT_EQ(message({leaf({1})}, [](const Tensors& x) { return x[0].to(f32); }),
            "gradcheck: differences need float64: output 0 is f32[1]");
  EXPECT_EQ(message({tensor({1}, f64)}, [](const Tensors& x) { return x[0]; }),
            "gradcheck: nothing to differentiate: no input requires grad");
  EXPECT_EQ(message({leaf({1})}, [](const Tensors& x) { return x[0].detach(); }),
            "gradcheck: nothing to differentiate: no output requires grad");
}

}  // namespace
}  // namespace dyadic
