// Tensor() holds nothing: what takes a tensor says so instead of reading it.
#include <gtest/gtest.h>

#include "dyadic/dyadic.h"

namespace dyadic {
namespace {

template <class F> std::string undefined_refusal(F f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}

TEST(Undefined, OperandsAreNamed) {
  const Tensor none, x = ones({2});
  EXPECT_EQ(undefined_refusal([&] { add(none, x); }),
            "add: self is undefined: it is, or holds, Tensor(), which has no elements");
  EXPECT_EQ(undefined_refusal([&] { add(x, none); }),
            "add: other is undefined: it is, or holds, Tensor(), which has no elements");
  EXPECT_NE(undefined_refusal([&] { cat({x, none}); }).find("undefined"), std::string::npos);
  EXPECT_NE(undefined_refusal([&] { none + 1; }).find("undefined"), std::string::npos);
  EXPECT_NE(undefined_refusal([&] { detach(none); }).find("undefined"), std::string::npos);
  EXPECT_NE(undefined_refusal([&] { sum(none); }).find("undefined"), std::string::npos);
  EXPECT_NE(undefined_refusal([&] { x.matmul(none); }).find("undefined"), std::string::npos);
}

TEST(Undefined, GradientsFitTheirTensor) {
  const Tensor x = ones({3}).requires_grad_();
  for (const Tensor& g : {ones({2}), ones({3}, f64), ones({3}, {}, meta), x})
    EXPECT_NE(undefined_refusal([&] { x.set_grad(g); }).find("it does not fit"), std::string::npos);
  EXPECT_NE(undefined_refusal([&] { (x * 2).backward(ones({3}, {}, meta)); }).find("another device"), std::string::npos);
}

}  // namespace
}  // namespace dyadic
