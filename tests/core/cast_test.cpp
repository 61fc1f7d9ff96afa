// Rounding and overflow as they are asked for.
#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.h"
#include "dyadic/dyadic.h"
#include "formats/format.h"

namespace dyadic {
namespace {

std::vector<double> values(const Tensor& t) {
  const Tensor x = t.to(f64).contiguous();
  return {x.data<double>(), x.data<double>() + x.numel()};
}
using Values = std::vector<double>;

TEST(Cast, SaturatesFloats) {
  const Tensor x = tensor({1e9, -1e9, INFINITY, -INFINITY, 448.0, 0.3});
  EXPECT_EQ(values(cast(x, f16, "nearest", "saturate"))[0], 65504);
  EXPECT_EQ(values(cast(x, f16, "nearest", "saturate"))[3], -65504);
  EXPECT_EQ(values(cast(x, f16))[2], INFINITY);
  EXPECT_EQ(values(cast(x, f8e5m2, "nearest", "saturate"))[1], -57344);
  EXPECT_EQ(values(cast(x, f8e4m3fnuz, "nearest", "saturate"))[2], 240);
  EXPECT_EQ(values(cast(x, f8e4m3fn))[0], 448);  // PyTorch's rule
  EXPECT_TRUE(std::isnan(values(cast(x, f8e4m3fn, "nearest", "special"))[0]));
  EXPECT_EQ(values(cast(tensor({1e300, -1e300}, f64), f32, "nearest", "saturate")), (Values{0x1.fffffep127, -0x1.fffffep127}));
  EXPECT_EQ(values(cast(tensor({1e300}, f64), bf16, "nearest", "saturate")), (Values{0x1.fep127}));
  EXPECT_EQ(values(cast(full({2}, 100000, i64), f16, "nearest", "saturate")), (Values{65504, 65504}));
  EXPECT_TRUE(std::isnan(values(cast(tensor({NAN}), f16, "nearest", "saturate"))[0]));
}

TEST(Cast, SaturatesIntegers) {
  const Tensor x = tensor({300.0, -300.0, 1e30, -1e30, INFINITY, NAN, 1.9, -1.9});
  EXPECT_EQ(values(cast(x, u8, "nearest", "saturate")), (Values{255, 0, 255, 0, 255, 0, 1, 0}));
  EXPECT_EQ(values(cast(x, i8, "nearest", "saturate")), (Values{127, -128, 127, -128, 127, 0, 1, -1}));
  EXPECT_EQ(values(cast(x, i4, "nearest", "saturate")), (Values{7, -8, 7, -8, 7, 0, 1, -1}));
  EXPECT_EQ(values(cast(x, i32, "nearest", "saturate"))[2], 2147483647);
  EXPECT_EQ(cast(x, i64, "nearest", "saturate").data<int64_t>()[2], INT64_MAX);
  EXPECT_EQ(cast(x, i64, "nearest", "saturate").data<int64_t>()[3], INT64_MIN);
  EXPECT_EQ(values(cast(full({1}, 300, i64), u8, "nearest", "saturate")), (Values{255}));
  EXPECT_EQ(values(cast(full({1}, 300, i64), u8)), (Values{44}));
}

TEST(Cast, StochasticRoundingIsUnbiasedAndReproducible) {
  const Tensor x = full({1 << 18}, 1.0 + 0.3 / 8);
  for (DType d : {f8e4m3fn, f6e2m3fn}) {  // both have a step of 1/8 there
    manual_seed(5);
    const Tensor a = cast(x, d, "stochastic");
    const double p = (values(mean(a.to(f64)))[0] - 1) * 8, se = std::sqrt(0.3 * 0.7 / double(x.numel()));
    EXPECT_NEAR(p, 0.3, 4 * se) << d.name();
    EXPECT_NE(values(cast(x, d, "stochastic")), values(a)) << "the next draw is another";
    manual_seed(5);
    set_num_threads(7);
    EXPECT_EQ(values(cast(x, d, "stochastic")), values(a));
    set_num_threads(2);
  }
}

// Blocked dtypes are decoded and converted in one pass: as by way of the dtype they decode to, whatever their layout.
TEST(Cast, BlockedDtypesReachEveryOtherAsTheirValuesDo) {
  manual_seed(1);
  const Tensor x = randn({70, 256}) * 5.0;
  for (DType from : registered_dtypes()) {
    if (!from.format()->is_blocked() || !from.format()->can_encode()) continue;
    const Tensor q = x.to(from), plain = q.to(DType(&compute_format(from.format()->compute())));
    for (DType to : {f64, f32, f16, f8e4m3fn, i64, i8, u8, kBool}) {
      EXPECT_EQ(values(q.to(to)), values(plain.to(to))) << from.name() << " to " << to.name();
      EXPECT_EQ(values(q.t().to(to)), values(plain.t().to(to))) << from.name() << " to " << to.name();
      EXPECT_EQ(values(slice(q, 0, 3, 67).to(to)), values(slice(plain, 0, 3, 67).to(to))) << from.name() << " to " << to.name();
    }
    manual_seed(5);
    const Tensor a = cast(q, f8e4m3fn, "stochastic");
    manual_seed(5);
    EXPECT_EQ(values(a), values(cast(plain, f8e4m3fn, "stochastic"))) << from.name();
  }
  // Too large for a cache, in one pass past it.
  const Tensor large = (arange(12 << 20) % 16).to(u4);
  EXPECT_TRUE(equal(large.to(f32), large.to(i32).to(f32)));
}

}  // namespace
}  // namespace dyadic
