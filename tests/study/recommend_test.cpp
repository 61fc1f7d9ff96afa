// Which recipe and format a study recommends, and what it says about it.
#include "study/recommend.h"

#include <gtest/gtest.h>

#include "sample_result.h"

namespace dyadic::study {
namespace {

RecipeResult& recipe(StudyResult& s, const std::string& name) { return const_cast<RecipeResult&>(*s.recipe(name)); }
bool says(const Recommendation& r, const std::string& text) { return r.why.find(text) != std::string::npos; }

TEST(Recommend, LeastMemoryWithinTolerance) {
  const Recommendation r = recommend(sample_result());
  EXPECT_EQ(r.recipe, "pure-bf16-sr");  // as small as pure-bf16, which loses 4 %
  EXPECT_EQ(r.format, "i8(row)");
  EXPECT_TRUE(
      says(r, "pure-bf16-sr trains in the least memory of the 5 recipes within 1 % of f32's loss: 13.6 MiB against 23.9 MiB"))
      << r.why;
  EXPECT_TRUE(says(r, "Cheaper, but beyond the tolerance: nf4(block=64,double) (444 KiB, +0.0311 \u00b1 0.0016)")) << r.why;
  EXPECT_TRUE(says(r, "--seeds 3")) << r.why;
}

TEST(Recommend, LeastTime) {
  StudyResult s = sample_result();
  s.options.minimize = Minimize::time;
  const Recommendation r = recommend(s);
  // 5.9 ms (bf16-adam8) and 6.0 ms (pure-bf16-sr) are within 2 %: the smaller loss wins.
  EXPECT_EQ(r.recipe, "bf16-adam8");
  EXPECT_EQ(r.format, "f32");  // 410 k tokens/s; bf16's 402 k is within 2 %, but loses more
  EXPECT_TRUE(says(r, "5.90 ms per step against 10.4 ms per step for f32 (1.76x the speed)")) << r.why;
}

TEST(Recommend, ToleranceIsOnTheBoundNotOnTheMean) {
  StudyResult s = sample_result();
  s.options.tolerance = 0.0148 / 2.0298;  // the mean is just within, its bound isn't
  const Recommendation r = recommend(s);
  EXPECT_EQ(r.recipe, "bf16-adam8");
  EXPECT_TRUE(says(r, "measured too coarsely to say so: pure-bf16-sr (13.6 MiB, +0.0148 \u00b1 0.0012)")) << r.why;
}

TEST(Recommend, AFormatOfOneRunKeepsHalf) {
  StudyResult s = sample_result();
  for (FormatResult& f : s.formats)
    if (f.name == "nf4(block=64,double)") f.vs_f32 = sample_delta(0.018, 0.001);  // of 0.0203 that are allowed
  const Recommendation one = recommend(s);
  EXPECT_EQ(one.format, "i8(row)");
  EXPECT_TRUE(says(one, "formats within 0.5 % of f32's loss")) << one.why;
  EXPECT_TRUE(says(one,
                   "Cheaper, and within 1 % on these weights, but not by what weights of other seeds may need: "
                   "nf4(block=64,double) (444 KiB, +0.0180"))
      << one.why;
  EXPECT_FALSE(says(one, "would tell")) << one.why;  // .018 is more than half of what is allowed, however well it is measured
  s.options.seeds = 3;                               // formats are of the first one's weights still
  EXPECT_EQ(recommend(s).format, "i8(row)");
  s.options.seeds = 1, s.recipes.clear();  // a model that is there: its weights are those that will be stored
  EXPECT_EQ(recommend(s).format, "nf4(block=64,double)");
}

// A difference that is all error is luck: on other weights it is as likely a loss.
TEST(Recommend, AGainOfOneRunIsNone) {
  StudyResult s = sample_result();
  const auto with = [&](double delta, double se) {
    for (FormatResult& f : s.formats)
      if (f.name == "nf4(block=64,double)") f.vs_f32 = sample_delta(delta, se);
    return recommend(s);
  };
  EXPECT_EQ(with(-0.018, 0.016).format, "i8(row)");  // 95 % bound .0083, and .0101 is allowed
  EXPECT_EQ(with(-0.018, 0.005).format, "nf4(block=64,double)");
  EXPECT_TRUE(says(with(0.002, 0.004), "with twice that error, and without what is gained, it loses less than 0.0100, and "))
      << recommend(s).why;
  EXPECT_EQ(recommend(s).format, "nf4(block=64,double)");
  EXPECT_EQ(with(0.003, 0.004).format, "i8(row)");  // within 95 % of half: .0096
  EXPECT_TRUE(says(recommend(s), "is meant for this training, whatever its seed")) << recommend(s).why;
  s.recipes.clear();
  EXPECT_EQ(with(-0.018, 0.016).format, "nf4(block=64,double)");
  EXPECT_TRUE(says(recommend(s), "That is promised of these weights")) << recommend(s).why;
}

// Twice the error is .010 of .010 that are left: a quarter of what it was on four times as much.
TEST(Recommend, HowMuchMoreWouldTell) {
  StudyResult s = sample_result();
  for (FormatResult& f : s.formats)
    if (f.name == "nf4(block=64,double)") f.vs_f32 = sample_delta(0, 0.2 * 0.020298 / 2);
  EXPECT_EQ(recommend(s).format, "nf4(block=64,double)");
  for (FormatResult& f : s.formats)
    if (f.name == "nf4(block=64,double)") f.vs_f32 = sample_delta(0, 0.5 * 0.020298);
  EXPECT_TRUE(says(recommend(s), "About 4.0x as much to evaluate on would tell of nf4(block=64,double).")) << recommend(s).why;
  recipe(s, "pure-bf16").vs_f32 = sample_delta(0.0103, 0.02), recipe(s, "pure-bf16").vs_f32.se_kind = "seed";
  recipe(s, "pure-bf16-sr").vs_f32 = sample_delta(0.03, 0.02);
  s.options.seeds = 3;
  EXPECT_TRUE(says(recommend(s), "as many seeds would tell of pure-bf16.")) << recommend(s).why;
}

TEST(Recommend, TiesGoToTheSmallerLoss) {
  StudyResult s = sample_result();
  recipe(s, "pure-bf16").vs_f32 = sample_delta(0.001, 0.0001);
  EXPECT_EQ(recommend(s).recipe, "pure-bf16");
  recipe(s, "pure-bf16").vs_f32 = recipe(s, "pure-bf16-sr").vs_f32;
  EXPECT_EQ(recommend(s).recipe, "pure-bf16");  // equal in all: the order of the list
}

TEST(Recommend, BetterThanF32IsWithinTolerance) {
  StudyResult s = sample_result();
  s.options.tolerance = 0;
  recipe(s, "bf16").vs_f32 = sample_delta(-0.01, 0.001);
  const Recommendation r = recommend(s);
  EXPECT_EQ(r.recipe, "bf16");
  s.recommendation = r;
  EXPECT_NE(headline(s).find("at no loss"), std::string::npos);
}

TEST(Recommend, NothingQualifies) {
  StudyResult s = sample_result();
  s.options.tolerance = 0;
  const Recommendation r = recommend(s);
  EXPECT_EQ(r.recipe, "f32");
  EXPECT_EQ(r.format, "f32");
  EXPECT_TRUE(says(r, "Stay with f32: no other recipe is, with 95 % confidence, within 0 % of its loss")) << r.why;
}

TEST(Recommend, StoppedAndUnfinishedRecipesTakeNoPart) {
  StudyResult s = sample_result();
  recipe(s, "pure-bf16-sr").status = Status::stopped;
  recipe(s, "bf16-adam8").status = Status::running;
  s.complete = false;
  const Recommendation r = recommend(s);
  EXPECT_EQ(r.recipe, "f16");  // as small as bf16, and nearer
  EXPECT_TRUE(says(r, "pure-bf16-sr was stopped: its loss was not finite.")) << r.why;
  EXPECT_TRUE(says(r, "interrupted")) << r.why;
}

TEST(Recommend, WithoutAReferenceThereIsNone) {
  StudyResult s = sample_result();
  recipe(s, "f32").status = Status::stopped;
  recipe(s, "f32").val_loss = kUnknown;
  Recommendation r = recommend(s);
  EXPECT_EQ(r.recipe, "");
  EXPECT_EQ(r.format, "");
  EXPECT_TRUE(says(r, "f32, the reference, did not keep a finite loss")) << r.why;
  s.recommendation = r;
  EXPECT_EQ(headline(s), "There is no recommendation yet.");
  EXPECT_EQ(recommend(StudyResult{}).recipe, "");
}

TEST(Recommend, UnknownCostsAreLeftOut) {
  StudyResult s = sample_result();
  recipe(s, "pure-bf16-sr").bytes.peak.measured.reset();
  EXPECT_EQ(recommend(s).recipe, "bf16-adam8");
  for (RecipeResult& r : s.recipes) r.bytes.peak.measured.reset();
  const Recommendation r = recommend(s);
  EXPECT_EQ(r.recipe, "f32");
  EXPECT_TRUE(says(r, "No recipe within 1 % of f32's loss has a measured cost")) << r.why;
}

TEST(Recommend, NoSpeedWithoutASpreadOrWithinIt) {
  StudyResult s = sample_result();
  recipe(s, "pure-bf16-sr").step_spread = 1.5;  // 6.0 ms +- 4.5 beside 10.4
  s.recommendation = recommend(s);
  EXPECT_EQ(headline(s).find("the speed"), std::string::npos) << headline(s);
  recipe(s, "pure-bf16-sr").step_spread = kUnknown;
  EXPECT_EQ(headline(s).find("the speed"), std::string::npos) << headline(s);
  s.options.minimize = Minimize::time;
  recipe(s, "bf16-adam8").turns = 0;
  EXPECT_FALSE(says(recommend(s), "the speed")) << recommend(s).why;
}

TEST(Recommend, OneNumberHasNoConfidence) {
  StudyResult s = sample_result();
  s.recipes.clear();
  for (FormatResult& f : s.formats)
    if (f.name != "f32") f.vs_f32.se = kUnknown, f.vs_f32.upper = f.vs_f32.delta;
  const Recommendation r = recommend(s);
  EXPECT_EQ(r.format, "i8(row)");
  EXPECT_TRUE(says(r, "0.0203 may be lost; the error of that is not known, since there is one number for each format."))
      << r.why;
  EXPECT_FALSE(says(r, "95 %")) << r.why;
  s.options.tolerance = 0;
  EXPECT_FALSE(says(recommend(s), "95 %")) << recommend(s).why;
}

TEST(Recommend, AReferenceThatIsNotFiniteIsSaidSo) {
  StudyResult s = sample_result();
  recipe(s, "f32").val_loss = kUnknown;
  EXPECT_EQ(recommend(s).why, "No recommendation: the validation loss of f32, the reference, is not finite.");
  s.recipes.clear(), s.formats[0].val_loss = kUnknown;
  EXPECT_EQ(recommend(s).why, "No recommendation: the validation loss of f32, the reference, is not finite.");
}

TEST(Recommend, Headline) {
  EXPECT_EQ(headline(sample_result()),
            "Train with pure-bf16-sr: 43 % less memory and 1.73x the speed for 0.0148 nats (0.73 %) more loss. Store the "
            "weights as i8(row): "
            "3.7x smaller for 0.0009 nats (0.04 %) more loss.");
}

}  // namespace
}  // namespace dyadic::study
