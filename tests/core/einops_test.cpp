// Dimensions by name, against permutes and reshapes written out.
#include <gtest/gtest.h>

#include "dyadic/dyadic.h"

namespace dyadic {
namespace {

bool same(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && a.to_vector() == b.to_vector(); }
template <class F> std::string message(F f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

TEST(Einops, Rearrange) {
  const Tensor x = arange(0, 2 * 3 * 8).to(f32).view({2, 3, 8});
  EXPECT_TRUE(same(rearrange(x, "b t (h d) -> b h t d", {{"h", 4}}), x.view({2, 3, 4, 2}).permute({0, 2, 1, 3})));
  EXPECT_TRUE(same(rearrange(x, "b t c -> (b t) c"), x.view({6, 8})));
  EXPECT_TRUE(same(rearrange(x, "... c -> c ..."), x.permute({2, 0, 1})));
  EXPECT_TRUE(same(rearrange(x, "b ... -> (b ...)"), x.view({48})));
  EXPECT_TRUE(same(rearrange(x, "b t c -> b 1 t c"), unsqueeze(x, 1)));
  EXPECT_TRUE(same(rearrange(unsqueeze(x, 1), "b 1 t c -> b t c"), x));
  EXPECT_TRUE(same(rearrange(full({}, 3.0), "->"), full({}, 3.0)));
  EXPECT_TRUE(same(rearrange(zeros({2, 0, 3}), "a b c -> (a b) c"), zeros({0, 3})));
}

TEST(Einops, ReduceAndRepeat) {
  const Tensor x = arange(0, 24).to(f32).view({2, 3, 4});
  EXPECT_TRUE(same(reduce(x, "b t c -> b c", "mean"), mean(x, {1})));
  EXPECT_TRUE(same(reduce(x, "b t (c two) -> b c", "max", {{"two", 2}}), amax(x.view({2, 3, 2, 2}), {1, 3})));
  EXPECT_TRUE(same(reduce(x, "b ... -> b", "sum"), sum(x, {1, 2})));
  EXPECT_TRUE(same(reduce(x, "b t c -> () c", "min"), amin(x, {0, 1}).view({1, 4})));
  EXPECT_TRUE(same(repeat(x, "b t c -> b t n c", {{"n", 5}}), unsqueeze(x, 2).expand({2, 3, 5, 4})));
  EXPECT_TRUE(same(repeat(x, "b t c -> b (t 2) c"), unsqueeze(x, 2).expand({2, 3, 2, 4}).reshape({2, 6, 4})));
}

TEST(Einops, PackUnpackShapesAndSums) {
  const Tensor x = arange(0, 24).to(f32).view({2, 3, 4}), y = arange(0, 8).to(f32).view({2, 4});
  const Tensor both[] = {x, y};
  const Packed p = pack(both, "b * c");
  EXPECT_TRUE(p.tensor.sizes() == IntList({2, 4, 4}));
  const std::vector<Tensor> back = unpack(p.tensor, p.shapes, "b * c");
  EXPECT_TRUE(same(back[0], x) && same(back[1], y));
  EXPECT_EQ(parse_shape(x, "b _ c"), (std::map<std::string, int64_t>{{"b", 2}, {"c", 4}}));
  EXPECT_EQ(parse_shape(x, "... c"), (std::map<std::string, int64_t>{{"c", 4}}));
  const Tensor qk[] = {x, x};
  EXPECT_TRUE(same(einsum_named(qk, "batch i head, batch j head -> batch i j"), matmul(x, transpose(x, 1, 2))));
  EXPECT_EQ(message([&] { einsum_named({x, zeros({2, 3, 5})}, "batch i head, batch j head -> batch i j"); }),
            "einsum: \"head\" has two sizes: 4 before, 5 in operand 1, which is f32[2, 3, 5]: \"batch i head, batch j head -> "
            "batch i j\"");
}

TEST(Einops, GradientsFlow) {
  const Tensor x = ones({2, 6}).requires_grad_();
  sum(reduce(x, "b (n k) -> b n", "mean", {{"k", 3}})).backward();
  EXPECT_EQ(x.grad().to_vector(), std::vector<double>(12, double(1.0f / 3)));
}

TEST(Einops, MistakesShowPatternAndShape) {
  const Tensor x = zeros({2, 3, 8});
  EXPECT_EQ(message([&] { rearrange(x, "b c -> c b"); }),
            "rearrange: \"b c -> c b\" does not fit f32[2, 3, 8]: it has 3 dimensions, the left side names 2");
  EXPECT_EQ(message([&] { rearrange(x, "b t (h d) -> b h t d", {{"h", 3}}); }),
            "rearrange: \"b t (h d) -> b h t d\" does not fit f32[2, 3, 8]: dimension 2 of size 8 is no multiple of 3");
  EXPECT_EQ(
      message([&] { rearrange(x, "b t (h d) -> b h t d"); }),
      "rearrange: \"b t (h d) -> b h t d\" does not fit f32[2, 3, 8]: dimension 2 of size 8: the sizes of \"h\" and \"d\" are "
      "not known; give one");
  EXPECT_EQ(message([&] { rearrange(x, "b t c -> b t"); }),
            "rearrange: \"b t c -> b t\" does not fit f32[2, 3, 8]: \"c\" is on the left only; reduce takes dimensions away");
  EXPECT_EQ(
      message([&] { rearrange(x, "b t c -> b t c n", {{"n", 2}}); }),
      "rearrange: \"b t c -> b t c n\" does not fit f32[2, 3, 8]: \"n\" is on the right only; repeat makes new dimensions");
  EXPECT_EQ(message([&] { rearrange(x, "b t c -> b t c", {{"k", 2}}); }),
            "rearrange: \"b t c -> b t c\" does not fit f32[2, 3, 8]: a size is given for \"k\", which it does not name");
  EXPECT_EQ(message([&] { rearrange(x, "b b c -> b c"); }),
            "rearrange: a wrong pattern: \"b b c -> b c\": \"b\" stands twice on one side");
  EXPECT_EQ(message([&] { rearrange(x, "b (t c"); }), "rearrange: a wrong pattern: \"b (t c\": it needs one \"->\"");
  EXPECT_EQ(message([&] { rearrange(x, "b (t c -> b"); }),
            "rearrange: a wrong pattern: \"b (t c -> b\": a \"(\" without its \")\"");
  EXPECT_EQ(message([&] { reduce(x, "b t c -> b", "median"); }),
            "reduce: an unknown operation \"median\"; there are sum, mean, min, max, prod, any and all");
}

}  // namespace
}  // namespace dyadic
