// What a study refuses, tells apart, or says of figures that are none.
#include <gtest/gtest.h>

#include "own_study.h"
#include "study/recipe_apply.h"
#include "study/request.h"

namespace dyadic::inline v1::study {
namespace {

TEST(OwnStudy, RefusesWhatTheCommandRefuses) {
  Loader l;
  const auto said = [&](StudyOptions o, const Loss& loss = losses) -> std::string {
    o.out = "/proc/nowhere", o.progress = false;
    try {
      study(make, l.loader, loss, o);
    } catch (const Error& e) { return e.what(); }
    return "";
  };
  EXPECT_EQ(said({.time_s = 0.0}), "study: time is 0; seconds, above 0");
  EXPECT_EQ(said({.time_s = NAN}), "study: time is nan; seconds, above 0");
  EXPECT_EQ(said({.clip = -1}), "study: clip is -1; the largest norm of all gradients, at least 0");
  EXPECT_EQ(said({.clip = NAN}), "study: clip is nan; the largest norm of all gradients, at least 0");
  EXPECT_EQ(said({.tolerance = -1}), "study: tolerance is -1; a share such as 1% or 0.01");
  EXPECT_EQ(said({.schedule_options = {{"gamma", 0.5}}}), "study: schedule_options are of a schedule; name that too");
  EXPECT_EQ(said({}, Loss()), "study: there is no loss; pass a function of the model and a batch");
  EXPECT_EQ(said({.metric = {.name = "right"}}), "study: the metric has a name, right, and no function");
  const Metric one = {"one", [](nn::Module& m, const Value& b) { return mean(m(b[0]), {0, 1}, true)[0]; }, true};
  EXPECT_EQ(said({.metric = one}), "study: the metric one gave 1 numbers for 32 samples; let it give one for each");
  EXPECT_EQ(said({}, [](nn::Module& m, const Value& b) { return cross_entropy(m(b[0]), b[1]).view({1}); }),
            "study: the loss gave one number for a batch of 32; leave its mean to the study (reduction=\"none\")");
  EXPECT_THROW(language_model("/nowhere", {.tolerance = -1}), ValueError);
}

TEST(OwnStudy, FormatsRefuseWhatTheyCannotJudge) {
  StudyFolder f;
  const auto said = [&](nn::Module& m, FormatsOptions o, const Evaluate& evaluate) -> std::string {
    try {
      formats(m, evaluate, o);
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  const Evaluate count = [](nn::Module& m) { return ones({4}); };
  Net net;
  EXPECT_EQ(said(net, {}, Evaluate()), "formats: there is no evaluate; pass a function of the model");
  EXPECT_EQ(said(net, {.tolerance = NAN}, count), "formats: tolerance is nan; a share such as 1% or 0.01");
  FormatsOptions o{.formats = {"bf16"}, .out = f / "a"};
  EXPECT_EQ(said(net, o, count), "");
  EXPECT_EQ(said(net, o, count), "formats: " + o.out + " already holds a report; pass another out");
  nn::BatchNorm1d norm(8);
  EXPECT_EQ(said(norm, {}, count), "formats: BatchNorm1d has no weights to store: no parameter has two dimensions");
  store_parameters(net, {.parameters = bf16});
  EXPECT_EQ(said(net, {}, count), "formats: in.weight is bf16, and formats are compared with f32; pass the model in f32");
}

TEST(OwnStudy, RecipesThatShareANameAreToldApartOrRefused) {
  const auto names = [](std::vector<Recipe> recipes) {
    std::vector<std::string> found;
    for (const Recipe& r : chosen_recipes({.recipes = std::move(recipes)})) found.push_back(r.name);
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names({{.compute = f16}, recipe("f16")}), (Names{"f32", "f16-2", "f16"}));
  EXPECT_EQ(names({recipe("bf16"), {.compute = bf16}, recipe("bf16"), {}}), (Names{"f32", "bf16"}));
  EXPECT_EQ(names({{.compute = f16}}), (Names{"f32", "f16"}));
  EXPECT_EQ(names({{.name = "f32"}}), (Names{"f32"}));
  const auto said = [&](std::vector<Recipe> recipes) -> std::string {
    try {
      names(std::move(recipes));
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  EXPECT_EQ(said({{.name = "a"}, {.name = "a", .compute = bf16}}),
            "study: two recipes are called a and differ; call one something else");
  EXPECT_EQ(said({{.name = "f32", .parameters = bf16}}),
            "study: two recipes are called f32, which is the reference; call one something else");
  EXPECT_EQ(said({{.name = "a/b"}}), "recipe a/b: its files bear its name, which so has no /");
}

TEST(OwnStudy, AModelMadeInAnotherDtypeIsTrainedFromF32) {
  StudyFolder f;
  Loader l;
  const auto in = [](DType dtype) {
    return [dtype] {
      NoGrad guard;
      auto net = std::make_shared<Net>(nn::Options{.dtype = dtype});
      Net values;  // the same in both
      for (auto& [name, t] : values.named_parameters()) net->named_parameters()[name].copy_(t.to(bf16));
      return net;
    };
  };
  StudyOptions o = small(f / "a");
  o.steps = 20, o.recipes = {recipe("pure-bf16")}, o.formats = {"bf16"};
  const Study plain = study(in(f32), l.loader, losses, o);
  o.out = f / "b";
  const Study low = study(in(bf16), l.loader, losses, o);
  ASSERT_EQ(low.result.recipes.size(), 2u);
  for (const RecipeResult& r : plain.result.recipes) {
    EXPECT_EQ(r.weights_sha256, low.result.recipe(r.name)->weights_sha256) << r.name;
    EXPECT_EQ(r.bytes.parameters.measured, low.result.recipe(r.name)->bytes.parameters.measured) << r.name;
  }
  EXPECT_EQ(low.result.notes, std::vector<std::string>{"The model was made in bf16: recipes begin from its values in f32."});
  EXPECT_TRUE(plain.result.notes.empty());
  o.out = f / "c";
  try {
    study([] { return std::make_shared<Net>(nn::Options{.dtype = f64}); }, l.loader, losses, o);
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_STREQ(e.what(), "study: in.weight is f64, and a study compares with f32; make the model in f32");
  }
}

TEST(OwnStudy, WhatIsNotFiniteInTheEvaluationAloneIsSaid) {
  StudyFolder f;
  Loader l;
  StudyOptions o = small(f / "a");
  o.metric = {}, o.steps = 20, o.recipes = {recipe("bf16")}, o.formats = {"bf16"};
  const Study found =
      study(make, l.loader, [](nn::Module& m, const Value& b) { return losses(m, b) * (m.training() ? 1.0 : NAN); }, o);
  EXPECT_EQ(found.result.recommendation.why, "No recommendation: the validation loss of f32, the reference, is not finite.");
}

}  // namespace
}  // namespace dyadic::inline v1::study
