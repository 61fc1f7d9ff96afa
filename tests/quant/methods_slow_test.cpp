// What the methods gain that learn codes in many steps.
#include <gtest/gtest.h>

#include "dyadic/quant.h"
#include "tests/quant/layer.h"

namespace dyadic::inline v1::quant {
namespace {

using namespace testing;

// Between the two neighbours of each weight there is less to gain than GPTQ finds among all codes; where inputs are white it
// loses less.
TEST(Autoround, GainsWhereInputsAreCorrelatedAndLosesNothingWhereTheyAreNot) {
  manual_seed(17);
  const Layer smooth = layer(autoregressive(0.9)), flat = layer(low_rank()), white = layer(randn({2 * kRows, kWidth}));
  EXPECT_GT(gain(smooth, kRow4, autoround(smooth.weight, smooth.seen, kRow4)), 3);
  EXPECT_GT(gain(flat, kRow4, autoround(flat.weight, flat.seen, kRow4)), 6);
  const double scales = gain(white, kRow4, imatrix(white.weight, white.seen, kRow4));
  const double learned = gain(white, kRow4, autoround(white.weight, white.seen, kRow4));
  EXPECT_GT(learned, 0.97 * scales);
  EXPECT_GT(learned, gain(white, kRow4, gptq(white.weight, white.seen, kRow4)));
  // More steps, closer to the bottom; none, the scales alone.
  const DType i2 = DType::parse("i2(group=32)");
  const auto steps = [&](int64_t n) { return smooth.error(autoround(smooth.weight, smooth.seen, i2, {.steps = n})); };
  EXPECT_LT(steps(200), 0.92 * steps(10));
  EXPECT_TRUE(
      equal(autoround(smooth.weight, smooth.seen, i2, {.steps = 0}).to(f32), imatrix(smooth.weight, smooth.seen, i2).to(f32)));
}

TEST(Autoround, ServesEveryFormatWithCodes) {
  manual_seed(18);
  const Layer l = layer(autoregressive(0.9));
  for (DType d : formats_served(method("autoround"))) {
    if (d.name() == "q1_0" || d.name() == "udynamic8(block=256)") continue;  // signs alone, no signs
    const Tensor q = autoround(l.weight, l.seen, d, {.steps = 50});
    EXPECT_EQ(q.dtype(), d);
    EXPECT_GT(gain(l, d, q), d.bits() > 6 ? 1.02 : 1.3) << d.name();
  }
}

// Of 256 x 256 weights the codebooks alone are a bit each, 3.125 in all; words of 7 bits make 2.375, less than i2 with its
// scales.
TEST(Aqlm, GainsWhereInputsAreCorrelated) {
  manual_seed(16);
  const Layer smooth = layer(autoregressive(0.9)), flat = layer(low_rank()), loud = layer(with_outliers());
  const DType i2 = DType::parse("i2(group=32,scale=f16)"), small = DType::parse("aqlm(bits=7)");
  EXPECT_EQ(smooth.weight.to(kAqlm).nbytes(), 16384 + 1024 + 8192);
  EXPECT_EQ(smooth.weight.to(small).nbytes(), 14336 + 1024 + 4096);
  EXPECT_LT(smooth.weight.to(small).nbytes(), smooth.weight.to(i2).nbytes());
  for (auto [l, share] : {std::pair{&smooth, 0.85}, {&flat, 0.5}, {&loud, 0.87}}) {
    const Tensor q = aqlm(l->weight, l->seen, kAqlm);
    EXPECT_EQ(q.dtype(), kAqlm);
    EXPECT_LT(l->error(q), share * l->error(ldlq(l->weight, l->seen, e8p)));
    EXPECT_LT(l->error(aqlm(l->weight, l->seen, small)), 0.85 * l->error(gptq(l->weight, l->seen, i2)));
    // What the rounds add to codes chosen in order.
    EXPECT_LT(l->error(q), 0.96 * l->error(aqlm(l->weight, l->seen, kAqlm, {.rounds = 0})));
  }
  EXPECT_LT(flat.error(aqlm(flat.weight, flat.seen, kAqlm)),
            0.6 * flat.error(aqlm(flat.weight, flat.seen, kAqlm, {.rounds = 0})));
  // A tolerance that no round meets makes the first the last.
  EXPECT_TRUE(equal(aqlm(flat.weight, flat.seen, kAqlm, {.tolerance = 0.99}).to(f32),
                    aqlm(flat.weight, flat.seen, kAqlm, {.rounds = 1}).to(f32)));
}

// 512 x 1024 weights of 2.16 bits, codebooks and scales counted, beside 2.5.
TEST(Aqlm, OfAWiderLayer) {
  manual_seed(17);
  const Tensor x = repeat(autoregressive(0.9), {1, 4}) + randn({2 * kRows, 4 * kWidth}) * 0.5;
  const Layer l = {randn({2 * kWidth, 4 * kWidth}), narrow(x, 0, 0, kRows).contiguous(),
                   narrow(x, 0, kRows, kRows).contiguous()};
  const DType i2 = DType::parse("i2(group=32,scale=f16)");
  const Tensor q = aqlm(l.weight, l.seen, kAqlm);
  EXPECT_EQ(q.nbytes(), 131072 + 2048 + 8192);
  EXPECT_LT(l.error(q), l.error(ldlq(l.weight, l.seen, e8p)));
  EXPECT_LT(l.error(q), 0.75 * l.error(gptq(l.weight, l.seen, i2)));
}

}  // namespace
}  // namespace dyadic::inline v1::quant
