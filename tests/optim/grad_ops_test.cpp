// Norms and scales of gradients are calls like any other: counted, on meta too.
#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/dyadic.h"
#include "optim/grad_ops.h"

namespace dyadic::inline v1::optim {
namespace {

OpCount counted(const char* op) {
  for (const OpCount& c : Counting::counts())
    if (c.op == op) return c;
  return {};
}
Tensor with_grad(const Tensor& g) {
  const Tensor p = empty(g.sizes(), g.dtype(), g.device()).requires_grad_();
  p.set_grad(g);
  return p;
}

TEST(GradOps, ClippingIsCounted) {
  for (const Device device : {cpu, meta}) {
    const Tensor p = with_grad(device.is_meta() ? empty({10, 30}, f32, meta) : full({10, 30}, 2, f32));
    Counting::clear();
    Counting on;
    const double norm = grad_norm({{"p", p}});
    EXPECT_DOUBLE_EQ(norm, device.is_meta() ? 0 : std::sqrt(4.0 * 300));
    const OpCount c = counted("grad_squares");
    EXPECT_EQ(std::tuple(c.calls, c.flops), std::tuple(1, 600.0));
    EXPECT_GE(c.bytes, 1200);
  }
}

TEST(GradOps, SquaresOfEveryFormatAndLayout) {
  Generator g(3);
  const Tensor x = randn({7, 13}, g);
  for (const DType d : {f32, f64, bf16, f16})
    for (const Tensor& t : {x.to(d), x.to(d).t(), x.to(d).narrow(1, 2, 5)})
      EXPECT_NEAR(grad_squares({&t, 1}), sum(square(t.to(f64))).item(), 1e-9 * 100) << d.name();
  EXPECT_EQ(grad_squares(std::vector{empty({0}, f32)}), 0);
  double all = 0;
  const std::vector<Tensor> mixed = {x, x.to(bf16), x.t(), empty({0}), x.to(f64), x};
  for (const Tensor& t : mixed) all += grad_squares({&t, 1});
  EXPECT_EQ(grad_squares(mixed), all);
}

TEST(GradOps, NormsAreOfPositiveKindsOrZero) {
  for (const std::vector<Tensor>& all : {std::vector<Tensor>{}, std::vector{ones({2})}, std::vector{empty({0})}}) {
    EXPECT_THROW(total_norm(all, -1), ValueError);
    EXPECT_EQ(total_norm(all, 0), !all.empty() && all[0].numel() > 0);
  }
}

TEST(GradOps, UnscalingIsCountedAndWrites) {
  for (const DType d : {f32, f64, bf16, f16}) {
    const Tensor t = full({3, 5}, 8, d);
    const uint32_t before = t.version();
    Counting::clear();
    Counting on;
    EXPECT_EQ(grad_unscale({&t, 1}, 0.25), -1);
    EXPECT_TRUE(equal(t, full({3, 5}, 2, d)));
    EXPECT_EQ(t.version(), before + 1) << d.name();
    if (d != f64) { EXPECT_EQ(counted("grad_unscale").flops, 15); }
    t.select(0, 1).fill_(INFINITY);
    EXPECT_EQ(grad_unscale({&t, 1}, 0.5), 0);
  }
  EXPECT_EQ(grad_unscale(std::vector{empty({2, 2}, f16, meta)}, 0.5), -1);
}

}  // namespace
}  // namespace dyadic::inline v1::optim
