// Shapes by name.
#define DYADIC_CHECK_SHAPES 1
#include "dyadic/named.h"

#include <gtest/gtest.h>

#include "dyadic/ops.h"

namespace dyadic::inline v1 {
namespace {

std::string message(const Tensor& x, std::string_view pattern, AxisSizes sizes = {}) {
  try {
    expect(x, pattern, sizes);
  } catch (const Error& e) { return e.what(); }
  return "";
}

TEST(Named, SizesByName) {
  const Named<"batch seq hidden"> x = zeros({2, 3, 8});
  EXPECT_EQ(x.size<"seq">(), 3);
  static_assert(Named<"batch seq hidden">::dim_of<"hidden">() == 2);
  EXPECT_THROW((Named<"batch seq">(zeros({2}))), Error);
  EXPECT_EQ(add(x, 1).sizes(), x.sizes());  // it is a Tensor
}

std::string disagreement(Named<"batch seq hidden"> q, Named<"batch seq hidden"> k) {
  try {
    NamedScope names(q, k);
    names.expect(zeros({3, 4}), "seq (heads dim)", {{"heads", 2}});
    names.expect(zeros({2}), "dim");
    EXPECT_THROW(names.expect(zeros({3}), "dim"), Error);
  } catch (const Error& e) { return e.what(); }
  return "";
}

TEST(Named, AScopeHoldsSizesForAllOfItsTensors) {
  EXPECT_EQ(disagreement(zeros({2, 3, 8}), zeros({2, 3, 8})), "");
  EXPECT_EQ(disagreement(zeros({2, 3, 8}), zeros({2, 1, 8})),
            "expect: \"batch seq hidden\" does not fit f32[2, 1, 8]: dimension 1 is 1, not 3; seq is 3 in f32[2, 3, 8] "
            "\"batch seq hidden\"");
}

TEST(Named, ExpectFindsSizes) {
  const auto sizes = check_shape(zeros({2, 3, 8}), "batch ... (heads dim)", {{"heads", 4}});
  EXPECT_EQ(sizes.at("batch"), 2);
  EXPECT_EQ(sizes.at("dim"), 2);
  EXPECT_EQ(message(zeros({2, 3}), "a _"), "");
  EXPECT_EQ(message(zeros({2, 3}), "2 b"), "");
  EXPECT_EQ(message(zeros({}), ""), "");
}

TEST(Named, ExpectSaysWhatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(message(x, "a b c"), "expect: \"a b c\" does not fit f32[2, 3]: it has 2 dimensions, the pattern 3");
  EXPECT_EQ(message(x, "a 4"), "expect: \"a 4\" does not fit f32[2, 3]: dimension 1 is 3, not 4");
  EXPECT_EQ(message(x, "a b", {{"b", 5}}), "expect: \"a b\" does not fit f32[2, 3]: dimension 1 is 3, not 5");
  EXPECT_EQ(message(x, "a (b 2)"), "expect: \"a (b 2)\" does not fit f32[2, 3]: dimension 1 of size 3 is no multiple of 2");
  EXPECT_EQ(message(x, "a (b c)"),
            "expect: \"a (b c)\" does not fit f32[2, 3]: the sizes of \"b\" and \"c\" are not known; give one");
}

}  // namespace
}  // namespace dyadic::inline v1
