// Batches of tensors of several shapes.
#include "dyadic/nested.h"

#include <gtest/gtest.h>

#include "dyadic/dyadic.h"

namespace dyadic {
namespace {

TEST(Nested, PaddedToTheLargest) {
  const NestedTensor n({ones({2, 3}), full({1, 4}, 2.0)});
  EXPECT_TRUE(equal(n.to_padded_tensor(-1),
                    tensor({{{1., 1., 1., -1.}, {1., 1., 1., -1.}}, {{2., 2., 2., 2.}, {-1., -1., -1., -1.}}})));
  EXPECT_EQ(n.to_padded_tensor(0, IntList{2, 5, 4}).size(1), 5);
  EXPECT_TRUE(n.size(0) == 2 && !n.size(1) && !n.size(-1) && n.dim() == 3 && n.numel() == 10);
}

TEST(Nested, PartsOfOneTensor) {
  Tensor values = arange(0, 6).to(f32).requires_grad_();
  const NestedTensor n = nested_tensor_from_jagged(values, tensor({0, 2, 6}));
  EXPECT_TRUE(equal(n.values(), values) && equal(n.offsets(), tensor({0, 2, 6})));
  (n.to_padded_tensor(0) * tensor({{1., 2., 9., 9.}, {3., 4., 5., 6.}})).sum().backward();
  EXPECT_TRUE(equal(values.grad(), tensor({1., 2., 3., 4., 5., 6.})));
  EXPECT_TRUE(equal(nested_tensor_from_jagged(values, tensor({0, 2, 6}), tensor({1, 3})).values(), tensor({0., 2., 3., 4.})));
}

TEST(Nested, MistakesAreNamed) {
  const auto error = [](auto call) -> std::string {
    try {
      call();
    } catch (const Error& e) { return e.what(); }
    return "no error";
  };
  EXPECT_EQ(error([] { NestedTensor({}); }), "nested_tensor: a list of tensors is needed that has one at least");
  EXPECT_EQ(
      error([] { NestedTensor({ones({2}), ones({2, 2})}); }),
      "nested_tensor: tensors are of one dtype and one number of dimensions, at least 1: one is f32[2], another f32[2, 2]");
  EXPECT_EQ(error([] { NestedTensor({ones({2}), ones({3})}).to_padded_tensor(0, IntList{2, 2}); }),
            "to_padded_tensor: output_size has room for all parts: it is [2, 2], they need [2, 3]");
  EXPECT_EQ(error([] { nested_tensor_from_jagged(ones({3}), tensor({0, 2, 5})); }),
            "nested_tensor_from_jagged: part 1 is [2, 5) of values with 3 rows");
  EXPECT_EQ(error([] { NestedTensor({ones({2, 1}), ones({3, 2})}).values(); }),
            "values: parts differ in dimension 1, not in the first alone; unbind() has them");
}

TEST(Nested, PrintedAsPyTorchDoes) {
  EXPECT_EQ(NestedTensor({ones({2, 2}), ones({1, 2})}).str(),
            "nested_tensor([\n  tensor([[1., 1.],\n          [1., 1.]]),\n  tensor([[1., 1.]])\n])");
}

}  // namespace
}  // namespace dyadic
