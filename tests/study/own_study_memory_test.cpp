// Predicted memory against measured, whatever the batches are.
#include <gtest/gtest.h>

#include "account/machine.h"
#include "own_study.h"
#include "study/trainer.h"

namespace dyadic::inline v1::study {
namespace {

StudyOptions of_memory(const std::string& out) {
  return {.steps = 12, .recipes = {recipe("bf16")}, .formats = {"bf16"}, .out = out, .progress = false};
}
Tensor per_row(nn::Module& model, const Value& batch) { return mean(square(model(batch[0]) - batch[1].tensor()), {1}); }

void expect_predicted(const Study& found, const char* what) {
  for (const RecipeResult& r : found.result.recipes) {
    EXPECT_EQ(r.bytes.peak.predicted, r.bytes.peak.measured) << what << ", " << r.name;
    for (auto [category, amount] : kAmounts)
      EXPECT_EQ((r.bytes.*amount).predicted, (r.bytes.*amount).measured)
          << what << ", " << r.name << ", " << category_name(category);
    EXPECT_TRUE(r.bytes.peak.measured) << what;
  }
  EXPECT_TRUE(found.result.notes.empty()) << what << ": " << found.result.notes[0];
}

TEST(OwnStudy, PredictedPeaksAreMeasuredWhereverBatchesComeFrom) {
  StudyFolder f;
  Generator g(7);
  std::vector<Value> made, views;
  const Tensor all = randn({60, 33, 16}, g), targets = randn({60, 33, 4}, g);
  for (int64_t i = 0; i < 30; ++i) made.push_back(Value::List{randn({32, 16}, g), randn({32, 4}, g)});
  for (int64_t i = 0; i < 30; ++i) views.push_back(Value::List{select(all, 0, i), select(targets, 0, i)});
  StudyOptions o = of_memory(f / "list");
  expect_predicted(study(make, made, per_row, o), "a list");
  o.out = f / "views";
  expect_predicted(study(make, views, per_row, o), "a list of views");
  o.evaluation = std::vector<Value>(made.begin(), made.begin() + 2);
  o.out = f / "kept";
  expect_predicted(study(make, [&](int64_t step) { return made[size_t(step) % 30]; }, per_row, o), "kept ones");
  o.out = f / "new";
  const auto fresh = [](int64_t step) -> Value {
    Generator own{uint64_t(step) + 1};
    const Tensor wide = randn({32, 20}, own);  // both are parts of it
    return Value::List{narrow(wide, 1, 0, 16), narrow(wide, 1, 16, 4)};
  };
  expect_predicted(study(make, fresh, per_row, o), "new ones");
  o.out = f / "half";
  expect_predicted(
      study(make, [&](int64_t step) { return Value(Value::List{made[0][0], fresh(step)[1]}); }, per_row, o), "one of both");
  o.out = f / "loader";
  data::DataLoader loader(std::make_shared<data::TensorDataset>(std::vector{randn({100, 16}, g), randn({100, 4}, g)}),
                          {.batch_size = 32, .shuffle = true});
  expect_predicted(study(make, loader, per_row, o), "a loader");
}

TEST(OwnStudy, WhatMemoryDependsOnIsSaid) {
  StudyFolder f;
  StudyOptions o = of_memory(f / "shapes");
  o.evaluation = std::vector<Value>{Value::List{randn({8, 16}), randn({8, 4})}};
  const auto growing = [](int64_t step) -> Value {
    const int64_t rows = step == 5 ? 96 : 32;
    return Value::List{randn({rows, 16}), randn({rows, 4})};
  };
  const Study found = study(make, growing, per_row, o);
  ASSERT_EQ(found.result.notes.size(), 1u);
  const std::string& note = found.result.notes[0];
  EXPECT_EQ(note.find("Measured peaks are not the predicted ones: f32 has +"), 0u) << note;
  EXPECT_NE(
      note.find("batches differ: the first one is [f32[32, 16], f32[32, 4]], that of step 5 is [f32[96, 16], f32[96, 4]]."),
      std::string::npos)
      << note;
  // Of workers all that they may have ready.
  o.out = f / "workers";
  data::DataLoader loader(std::make_shared<data::TensorDataset>(std::vector{randn({128, 16}), randn({128, 4})}),
                          {.batch_size = 32, .num_workers = 2});
  const Study ahead = study(make, loader, per_row, o);
  for (const RecipeResult& r : ahead.result.recipes) EXPECT_LE(*r.bytes.peak.measured, *r.bytes.peak.predicted) << r.name;
  for (const std::string& why : ahead.result.notes)
    EXPECT_NE(why.find("2 workers have up to 4 batches ready"), std::string::npos) << why;
}

#if !defined(__SANITIZE_ADDRESS__)
// 32 MB in blocks that the pool keeps, and one block that is still there.
TEST(EmptyCache, GivesSmallBlocksBack) {
  Tensor kept;
  {
    std::vector<Tensor> all;
    for (int i = 0; i < 1000; ++i) all.push_back(ones({8192}));
    kept = all[500];
  }
  const int64_t before = account::resident_bytes();
  empty_cache();
  EXPECT_LT(account::resident_bytes(), before - (28 << 20));
  EXPECT_EQ(kept.to_vector(), std::vector<double>(8192, 1.0));
  std::vector<Tensor> again;
  for (int i = 0; i < 100; ++i) again.push_back(full({8192}, double(i)));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(again[size_t(i)].to_vector(), std::vector<double>(8192, double(i)));
}
#endif

}  // namespace
}  // namespace dyadic::inline v1::study
