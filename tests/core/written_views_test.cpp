// Writing into views while gradients are recorded: the base's history and that of its other views follow.
#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/autograd.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1 {
namespace {

Tensor leaf(std::initializer_list<double> values) { return tensor(values, f64).requires_grad_(); }
std::vector<double> values(const Tensor& t) { return t.to_vector(); }
using Values = std::vector<double>;
Tensor gradient(const Tensor& y, const Tensor& x, bool create = false) { return grad({&y, 1}, {&x, 1}, {}, true, create)[0]; }

TEST(written_views, a_row_of_a_buffer_takes_part) {
  Tensor w = leaf({1, 2, 3}), out = zeros({2, 3}, f64);
  out[0].copy_(mul(w, w));
  EXPECT_TRUE(out.requires_grad());
  EXPECT_EQ(out.grad_fn(), "CopySlices");
  sum(mul(out, 2)).backward();
  EXPECT_EQ(values(w.grad()), (Values{4, 8, 12}));
}

TEST(written_views, what_was_overwritten_has_no_gradient) {
  Tensor x = leaf({1, 2, 3, 4}), y = mul(x, 3);
  y.index_put_({Slice{1, 3}}, 0);
  EXPECT_EQ(values(y), (Values{3, 0, 0, 12}));
  sum(mul(y, y)).backward();
  EXPECT_EQ(values(x.grad()), (Values{18, 0, 0, 72}));
}

TEST(written_views, other_views_follow_whenever_they_were_made) {
  Tensor x = leaf({1, 2, 3}), y = mul(x, 1), before = slice(y, 0, 0, 2), reversed = slice(y, 0, std::nullopt, std::nullopt, -1);
  y[1].mul_(10);
  EXPECT_EQ(values(gradient(sum(before), x)), (Values{1, 10, 0}));
  y.mul_(2);
  EXPECT_EQ(values(gradient(sum(mul(reversed, tensor({1, 10, 100}, f64))), x)), (Values{200, 200, 2}));
  EXPECT_EQ(values(before), (Values{2, 40}));
}

TEST(written_views, a_view_of_what_needs_no_gradient_gets_one_from_its_base) {
  Tensor w = leaf({5}), buffer = zeros({2, 2}, f64), corner = buffer[1][1];
  EXPECT_FALSE(corner.requires_grad());
  buffer.t()[1].copy_(w.expand({2}));  // another view of the same memory
  EXPECT_TRUE(corner.requires_grad());
  EXPECT_FALSE(corner.is_leaf());
  corner.backward();
  EXPECT_EQ(values(w.grad()), (Values{1}));
}

TEST(written_views, a_recurrence_within_one_buffer) {
  Tensor w = leaf({0.5}), states = ones({4, 1}, f64);
  for (int64_t t = 1; t < 4; ++t) states[t].copy_(mul(states[t - 1], w).clone());
  EXPECT_THROW(sum(states).backward(), Error);  // states[0] was saved, and its storage written to since, as in PyTorch
  states = ones({4, 1}, f64);
  for (int64_t t = 1; t < 4; ++t) states[t].copy_(mul(states[t - 1].clone(), w));
  sum(states).backward();
  EXPECT_EQ(values(w.grad()), (Values{1 + 2 * 0.5 + 3 * 0.25}));
}

TEST(written_views, in_place_ops_of_every_kind) {
  Tensor x = leaf({1, 2, 3, 4}), y = mul(x, 1).view({2, 2});
  y[0].add_(mul(y[0].clone(), y[1].clone()));  // pointwise, of what is computed from it
  y.t()[0].add_(y.t()[1]);                     // strided
  call_inplace(Op::exp_, y[1]);                // saves its own result
  // y = [[x0 (1 + x2) + x1 (1 + x3), x1 (1 + x3)], [exp(x2 + x3), exp(x3)]]
  const Values g = values(gradient(sum(y), x));
  const double e7 = std::exp(7), e4 = std::exp(4);
  EXPECT_NEAR(g[0], 4, 1e-12);
  EXPECT_NEAR(g[1], 10, 1e-12);
  EXPECT_NEAR(g[2], 1 + e7, 1e-9);
  EXPECT_NEAR(g[3], 4 + e7 + e4, 1e-9);
}

TEST(written_views, gradients_of_gradients) {
  Tensor x = leaf({1, 2, 3}), y = mul(x, x);
  slice(y, 0, 1, 3).mul_(x[0].detach() + 2);
  Tensor g = gradient(sum(mul(y, y)), x, true);
  EXPECT_EQ(values(g), (Values{4, 9 * 4 * 8, 9 * 4 * 27}));
  EXPECT_EQ(values(gradient(sum(g), x)), (Values{12, 9 * 12 * 4, 9 * 12 * 9}));
}

TEST(written_views, nothing_is_kept_alive) {
  const int64_t before = memory_stats().total;
  for (int i = 0; i < 3; ++i) {
    Tensor w = leaf({1, 2}), out = zeros({3, 2}, f64), last = out[2];
    for (int64_t t = 1; t < 3; ++t) out[t].add_(mul(out[t - 1], w));  // saves another view
    EXPECT_TRUE(last.requires_grad());
  }
  EXPECT_EQ(memory_stats().total, before);
}

TEST(written_views, what_a_gradient_reads_of_the_overwritten_is_kept) {
  Tensor x = leaf({1, 2}), y = mul(x, 1);
  y.mul_(x);
  sum(y).backward();
  EXPECT_EQ(values(x.grad()), (Values{2, 4}));
  Tensor rows = leaf({1, 2, 3, 4}), z = mul(rows.reshape({2, 2}), 1);
  z[0].mul_(rows.reshape({2, 2})[1]);
  EXPECT_EQ(values(gradient(sum(z), rows)), (Values{3, 4, 2, 3}));
  const Tensor self = mul(x, 1);
  self.mul_(self);  // the other operand is a saved tensor, and was overwritten
  EXPECT_THROW(sum(self).backward(), Error);
}

TEST(written_views, parts_of_complex_numbers) {
  Tensor x = leaf({1, 2}), z = complex(mul(x, 2), mul(x, 3)), parts = view_as_real(z);
  select(parts, -1, 0).mul_(x);  // z = 2 x^2 + 3 x i
  EXPECT_EQ(values(view_as_real(z)), (Values{2, 3, 8, 6}));
  EXPECT_EQ(values(gradient(sum(square(abs(z))), x)), (Values{34, 164}));  // of 4 x^4 + 9 x^2
  z.mul_(Scalar(0, 2));                                                    // other views follow: -6 x + 4 x^2 i
  EXPECT_EQ(values(gradient(sum(mul(parts, tensor({1, 10}, f64))), x)), (Values{74, 154}));
}

TEST(written_views, pairs_as_complex_numbers) {
  Tensor x = leaf({1, 2, 3, 4}), y = mul(x.reshape({2, 2}), 1), z = view_as_complex(y);
  z.mul_(Scalar(0, 1));  // (a, b) become (-b, a)
  EXPECT_EQ(values(y), (Values{-2, 1, -4, 3}));
  EXPECT_EQ(values(gradient(sum(mul(y.reshape({4}), tensor({1, 10, 100, 1000}, f64))), x)), (Values{10, -1, 1000, -100}));
}

TEST(written_views, refusals) {
  Tensor w = leaf({1, 2, 3});
  auto text = [](auto f) -> std::string {
    try {
      f();
    } catch (const Error& e) { return e.what(); }
    return "";
  };
  EXPECT_EQ(text([&] { w[0].add_(w[1]); }),
            "add_: a view of a leaf that requires grad is written in place; wrap it in no_grad, or clone the leaf first");
  Tensor hidden, y = mul(w, 2);
  {
    NoGrad guard;
    hidden = y[0];
  }
  EXPECT_EQ(text([&] { hidden.mul_(w[1]); }),
            "mul_: a view that was made without recording is written in place while gradients are recorded; make it outside of "
            "no_grad, or use the out-of-place form");
  EXPECT_EQ(text([&] { zeros({1}).expand({3}).add_(ones({3})); }),
            "add: one element stands in several places: self is f32[3], expanded along dimension 0; clone() it first");
  {
    NoGrad guard;
    w[0].fill_(7);
  }
  EXPECT_EQ(values(w), (Values{7, 2, 3}));
}

}  // namespace
}  // namespace dyadic::inline v1
