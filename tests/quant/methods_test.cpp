// What each method gains on matrices whose inputs are known, always on rows that it has not seen.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "dyadic/quant.h"
#include "tests/quant/layer.h"

namespace dyadic::inline v1::quant {
namespace {

using namespace testing;

const GptqOptions kPlain = {.search = false};  // the encoder's scales, as the method's first authors have them

// 4.7, 12.7 and 0.87 were measured with another implementation.
TEST(Gptq, GainsWhereInputsAreCorrelatedAndLosesWhereTheyAreNot) {
  manual_seed(5);
  const Layer smooth = layer(autoregressive(0.9)), flat = layer(low_rank()), white = layer(randn({2 * kRows, kWidth}));
  EXPECT_NEAR(gain(smooth, kRow4, gptq(smooth.weight, smooth.seen, kRow4, kPlain)), 4.7, 0.5);
  EXPECT_NEAR(gain(flat, kRow4, gptq(flat.weight, flat.seen, kRow4, kPlain)), 13.5, 2.5);
  const double lost = gain(white, kRow4, gptq(white.weight, white.seen, kRow4, kPlain));
  EXPECT_LT(lost, 0.97);
  EXPECT_GT(lost, 0.8);
}

// The fewer the bits, the more it matters what the scales are.
TEST(Gptq, GainsMoreUnderSearchedScales) {
  manual_seed(15);
  const Layer l = layer(autoregressive(0.9)), white = layer(randn({2 * kRows, kWidth}));
  const auto ratio = [](const Layer& l, const char* format) {
    const DType d = DType::parse(format);
    return gain(l, d, gptq(l.weight, l.seen, d)) / gain(l, d, gptq(l.weight, l.seen, d, kPlain));
  };
  EXPECT_GT(ratio(l, "i2(group=32)"), 2);
  EXPECT_GT(ratio(l, "i3(group=64)"), 1.25);
  EXPECT_GT(ratio(l, "i4(row)"), 1.15);
  const DType d = kGroup4;  // what is made good still costs where there is nothing to make good
  EXPECT_LT(gain(white, d, gptq(white.weight, white.seen, d)), gain(white, d, imatrix(white.weight, white.seen, d)));
}

TEST(Gptq, ServesEveryFormatWithCodes) {
  manual_seed(6);
  const Layer l = layer(autoregressive(0.9));
  for (DType d : formats_served(method("gptq"))) {
    if (d.name() == "q1_0" || d.name() == "udynamic8(block=256)") continue;  // signs alone, no signs: nothing can be made good
    const Tensor q = gptq(l.weight, l.seen, d, kPlain);
    EXPECT_EQ(q.dtype(), d);
    EXPECT_GT(gain(l, d, q), d.bits() > 6 ? 1.02 : 2.0) << d.name();
  }
}

TEST(Gptq, OrderAndGroups) {
  manual_seed(7);
  const Layer l = layer(autoregressive(0.9) * exp(randn({kWidth}) * 0.7));
  const double late = gain(l, kGroup4, gptq(l.weight, l.seen, kGroup4));
  EXPECT_GT(late, 4);
  EXPECT_GT(gain(l, kGroup4, gptq(l.weight, l.seen, kGroup4, {.static_groups = true})), 4);
  EXPECT_GT(gain(l, kGroup4, gptq(l.weight, l.seen, kGroup4, {.act_order = true})), 4);
  const DType odd = DType::parse("i4(group=96)");  // the last group is shorter
  EXPECT_GT(gain(l, odd, gptq(l.weight, l.seen, odd)), 4);
}

// Where calibration data says little or nothing of some columns, or is degenerate, nothing breaks.
TEST(Gptq, DegenerateInputs) {
  manual_seed(8);
  Layer l = layer(autoregressive(0.9));
  Tensor dead = l.seen.clone();
  narrow(dead, 1, 40, 9).zero_();
  const Tensor q = gptq(l.weight, dead, kGroup4, kPlain);
  const Tensor column = narrow(l.weight, 1, 40, 9);  // rounded as any other, not forgotten
  EXPECT_LT(max(abs(narrow(q.to(f32), 1, 40, 9) - column)).item(), 0.5);
  const Tensor constant = ones({64, kWidth});  // rank 1, and no noise: damping has to be raised from 0
  EXPECT_TRUE(all(isfinite(gptq(l.weight, constant, kGroup4, {.damping = 0}).to(f32))).item<bool>());
  const Result zero = quantize_matrix(method("gptq"), l.weight, zeros({64, kWidth}), kGroup4);
  EXPECT_EQ(zero.fallback, "the inputs' products have no Cholesky factor at any damping");
  const Result few = quantize_matrix(method("gptq"), l.weight, narrow(l.seen, 0, 0, 5), kGroup4);
  EXPECT_EQ(few.fallback, "5 rows of calibration data reached it; gptq needs 16");
  EXPECT_TRUE(equal(few.weight.to(f32), l.weight.to(kGroup4).to(f32)));
}

TEST(Gptq, SameBitsForAnyNumberOfThreads) {
  manual_seed(9);
  const Layer l = layer(autoregressive(0.9));
  const int before = num_threads();
  set_num_threads(1);
  const Tensor one = gptq(l.weight, l.seen, q4_K).to(f32);
  for (int threads : {2, 3, 7}) {
    set_num_threads(threads);
    EXPECT_TRUE(equal(gptq(l.weight, l.seen, q4_K).to(f32), one)) << threads;
  }
  set_num_threads(before);
}

TEST(Autoround, DegenerateInputs) {
  manual_seed(18);
  const Layer l = layer(autoregressive(0.9));
  const Result few = quantize_matrix(method("autoround"), l.weight, narrow(l.seen, 0, 0, 5), kGroup4);
  EXPECT_EQ(few.fallback, "5 rows of calibration data reached it; autoround needs 16");
  const Tensor constant = autoround(l.weight, ones({64, kWidth}), kGroup4),
               none = autoround(l.weight, zeros({64, kWidth}), kGroup4);
  EXPECT_TRUE(all(isfinite(constant.to(f32))).item<bool>() && all(isfinite(none.to(f32))).item<bool>());
}

TEST(Autoround, SameBitsForAnyNumberOfThreads) {
  manual_seed(19);
  const Layer l = layer(autoregressive(0.9));
  const int before = num_threads();
  set_num_threads(1);
  const Tensor one = autoround(l.weight, l.seen, q4_K, {.steps = 20}).to(f32);
  for (int threads : {2, 3, 7}) {
    set_num_threads(threads);
    EXPECT_TRUE(equal(autoround(l.weight, l.seen, q4_K, {.steps = 20}).to(f32), one)) << threads;
  }
  set_num_threads(before);
}

TEST(Ldlq, GainsWhereInputsAreCorrelated) {
  manual_seed(16);
  const Layer smooth = layer(autoregressive(0.9)), flat = layer(low_rank()), loud = layer(with_outliers());
  const DType i2 = DType::parse("i2(group=32,scale=f16)");  // 2.5 bits an element, e8p 2.125
  for (auto [l, least] : {std::pair{&smooth, 2.9}, {&flat, 6.0}, {&loud, 4.0}}) {
    const Tensor q = ldlq(l->weight, l->seen, e8p);
    EXPECT_GT(gain(*l, e8p, q), least);
    EXPECT_LT(l->error(q), 0.85 * l->error(gptq(l->weight, l->seen, i2)));
  }
  const int before = num_threads();
  set_num_threads(1);
  const Tensor one = ldlq(smooth.weight, smooth.seen, e8p).to(f32);
  for (int threads : {2, 3, 7}) {
    set_num_threads(threads);
    EXPECT_TRUE(equal(ldlq(smooth.weight, smooth.seen, e8p).to(f32), one)) << threads;
  }
  set_num_threads(before);
  const Result few = quantize_matrix(method("ldlq"), loud.weight, narrow(loud.seen, 0, 0, 5), e8p);
  EXPECT_EQ(few.fallback, "5 rows of calibration data reached it; ldlq needs 16");
  EXPECT_TRUE(equal(few.weight.to(f32), loud.weight.to(e8p).to(f32)));
}

TEST(Aqlm, WhatItCannotServe) {
  manual_seed(18);
  const Layer l = layer(autoregressive(0.9));
  const Result few = quantize_matrix(method("aqlm"), l.weight, narrow(l.seen, 0, 0, 5), kAqlm);
  EXPECT_EQ(few.fallback, "5 rows of calibration data reached it; aqlm needs 16");
  EXPECT_TRUE(equal(few.weight.to(f32), l.weight.to(kAqlm).to(f32)));
  const Result zero = quantize_matrix(method("aqlm"), l.weight, zeros({64, kWidth}), kAqlm);
  EXPECT_EQ(zero.fallback, "the inputs' products have no Cholesky factor at any damping");
  EXPECT_EQ(method("aqlm").refuses(q4_0), "q4_0 has no codebooks of the tensor's own; use aqlm, or the method gptq");
  EXPECT_EQ(method("aqlm").refuses(f16), "f16 has no codebooks of the tensor's own; use aqlm, or the method gptq");
  Tensor dead = l.seen.clone(), weight = l.weight.clone();
  narrow(dead, 1, 40, 9).zero_(), weight[3].zero_();  // columns that the data says nothing of, a row of zeros
  for (const char* text : {"aqlm", "aqlm(codebooks=3,bits=5,scale=f16)", "aqlm(codebooks=1,bits=3)"}) {
    const Tensor q = aqlm(weight, dead, DType::parse(text)).to(f32);
    EXPECT_EQ(max(abs(q[3])).item(), 0) << text;
    const Tensor column = narrow(weight, 1, 40, 9);
    EXPECT_LT(mean(square(narrow(q, 1, 40, 9) - column)).item(), 0.8 * mean(square(column)).item()) << text;
  }
  EXPECT_TRUE(all(isfinite(aqlm(l.weight, ones({64, kWidth}), kAqlm, {.damping = 0}).to(f32))).item<bool>());
}

TEST(Aqlm, SameBitsForAnyNumberOfThreads) {
  manual_seed(19);
  const Layer l = layer(autoregressive(0.9));
  const int before = num_threads();
  set_num_threads(1);
  const Tensor one = aqlm(l.weight, l.seen, kAqlm, {.rounds = 1}).to(f32);
  for (int threads : {2, 3, 7}) {
    set_num_threads(threads);
    EXPECT_TRUE(equal(aqlm(l.weight, l.seen, kAqlm, {.rounds = 1}).to(f32), one)) << threads;
  }
  set_num_threads(before);
}

// 3.2 and 1.0 without clipping were measured with another implementation.
TEST(Awq, GainsWithOutliers) {
  manual_seed(10);
  const Layer smooth = layer(autoregressive(0.9)), loud = layer(with_outliers());
  const auto gain_of = [](const Layer& l, bool clip) {
    const Scaled s = awq(l.weight, l.seen, kGroup4, {.clip = clip});
    return gain(l, kGroup4, s.weight, s.input_scale);
  };
  EXPECT_NEAR(gain_of(loud, false), 3.4, 0.4);
  EXPECT_NEAR(gain_of(smooth, false), 1.0, 0.05);
  EXPECT_GT(gain_of(loud, true), 4);
  EXPECT_GT(gain_of(smooth, true), 1.5);
}

TEST(Hqq, GainsWithoutData) {
  manual_seed(11);
  const Layer l = layer(randn({2 * kRows, kWidth}));
  for (DType d : {q4_1, q5_1}) EXPECT_GT(gain(l, d, hqq(l.weight, d)), 1.05) << d.name();
  std::vector<std::string> served;
  for (DType d : formats_served(method("hqq"))) served.push_back(d.name());
  EXPECT_EQ(served, (std::vector<std::string>{"q5_1", "q4_1"}));
  EXPECT_EQ(method("hqq").refuses(DType::parse("i4(group=64,zero)")), "");
  EXPECT_EQ(method("hqq").refuses(q4_0), "q4_0 has no zero points of its own that could be moved; use q4_1 or i4(zero)");
}

TEST(Imatrix, GainsMostWhereColumnsDiffer) {
  manual_seed(12);
  const Layer loud = layer(randn({2 * kRows, kWidth}) * exp(randn({kWidth}) * 1.5));
  for (DType d : {kGroup4, q4_0, q4_1, q4_K, q3_K, q2_K, mxfp4}) {
    const double blind = gain(loud, d, imatrix(loud.weight, d)), told = gain(loud, d, imatrix(loud.weight, loud.seen, d));
    EXPECT_GT(told, 1.05) << d.name();
    EXPECT_GT(told, blind) << d.name();
  }
}

// What the scales do is exact: with enough bits nothing is lost.
TEST(Smoothquant, MovesOutliersIntoTheWeight) {
  manual_seed(13);
  const Layer loud = layer(with_outliers());
  const Scaled s = smoothquant(loud.weight, loud.seen, i8_row);
  EXPECT_LT(loud.error(s.weight, s.input_scale), 0.02);
  const Tensor before = amax(abs(loud.seen), {0}), after = amax(abs(loud.seen / s.input_scale), {0});
  EXPECT_LT((max(after) / min(after)).item(), 0.4 * (max(before) / min(before)).item());
  const Scaled none = smoothquant(loud.weight, loud.seen, i8_row, {.alpha = 0});
  EXPECT_LT(max(abs(none.input_scale * amax(abs(loud.weight), {0}) - 1)).item(), 1e-5);
}

TEST(Methods, HaveRecords) {
  std::vector<std::string> names;
  for (const Method* m : methods()) {
    names.push_back(m->name());
    EXPECT_GT(std::string(m->doc).size(), 20u);
    EXPECT_GT(std::string(m->source).size(), 5u);
    EXPECT_FALSE(formats_served(*m).empty()) << m->name();
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"aqlm", "autoround", "awq", "gptq", "hqq", "imatrix", "ldlq", "rtn", "smoothquant"}));
}

// bitsandbytes' own test table: N(0, 1), 1024 x 1024, mean absolute error.
TEST(Formats, ErrorsAreBitsandbytes) {
  manual_seed(14);
  const Tensor x = randn({1024, 1024});
  const auto error = [&](const std::string& format) { return mean(abs(x.to(DType::parse(format)).to(f32) - x)).item(); };
  const std::vector<std::tuple<int, double, double>> table = {{32, .067746, .088925},
                                                              {64, .072798, .096543},
                                                              {128, .076831, .102969},
                                                              {256, .080337, .108684},
                                                              {4096, .092547, .129536}};
  for (auto [block, nf4_error, fp4_error] : table) {
    // Three deviations of the mean of 2^20 errors.
    EXPECT_NEAR(error(fmt::format("nf4(block={})", block)), nf4_error, 2.5e-4) << block;
    EXPECT_NEAR(error(fmt::format("fp4(block={})", block)), fp4_error, 3.5e-4) << block;
  }
}

}  // namespace
}  // namespace dyadic::inline v1::quant
