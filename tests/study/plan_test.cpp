// Plans that make training fit: the same bits, the predicted bytes, the least that is possible.
#include "dyadic/plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device/limit.h"
#include "dyadic/offload.h"
#include "plan/cut.h"
#include "study/memory_plan.h"
#include "study/text_subject.h"
#include "study/trainer.h"
#include "tests/io/helpers.h"

namespace dyadic::inline v1::study {
namespace {

TrainSetup small() {
  TrainSetup s;
  s.model = {64, 32, 3, 2, 32};
  s.batch = 4;
  s.steps = 6;
  return s;
}
Corpus text() {
  std::string t;
  for (int i = 0; i < 400; ++i) t += "the quick brown fox " + std::to_string(i * 7919 % 1000) + "\n";
  return Corpus::from_text(t, TokenKind::chars);
}

struct Ran {
  std::string weights;
  Bytes bytes;
};
Ran train(Subject& subject, const Recipe& recipe, const Plan& plan) {
  const MemoryStats before = memory_stats();
  Trainer t(subject, recipe, plan);
  reset_peak_memory_stats();
  for (int i = 0; i < 3; ++i) t.step();
  Ran r{t.weights_sha256(), {}};
  fill_bytes(r.bytes, memory_stats(), before, &Amount::measured);
  return r;
}

void expect_same_bytes(const PlanCandidate& c, const Bytes& measured) {
  for (auto [what, a, b] : {std::tuple{"activations", c.bytes.activations, measured.activations},
                            {"gradients", c.bytes.gradients, measured.gradients},
                            {"optimizer", c.bytes.optimizer, measured.optimizer},
                            {"workspace", c.bytes.workspace, measured.workspace},
                            {"peak", c.bytes.peak, measured.peak}})
    EXPECT_EQ(*a.predicted, *b.measured) << what << " of " << c.name;
}

class PlanOf : public ::testing::TestWithParam<std::string> {};

TEST_P(PlanOf, EachExactCandidateTakesWhatItSaysAndGivesTheSameBits) {
  const TrainSetup s = small();
  const Corpus corpus = text();
  TextSubject subject(s, corpus);
  const Recipe r = study::recipe(GetParam());
  const testing::Folder folder;
  Plan plan = s.plan();
  plan.offload_folder = folder / "offload";
  const MemoryPlan p = plan_training(subject, r, plan, 0, {});
  const std::string bits = train(subject, r, s.plan()).weights;
  int exact = 0, on_disk = 0;
  for (const PlanCandidate& c : p.candidates) {
    Recipe changed = r;
    changed.states = c.states;
    const Ran ran = train(subject, changed, planned(plan, c));
    expect_same_bytes(c, ran.bytes);
    if (c.exact) { EXPECT_EQ(ran.weights, bits) << c.name; }
    exact += c.exact, on_disk += c.on_disk;
  }
  EXPECT_GT(exact, 3);
  EXPECT_GT(on_disk, 0);
  EXPECT_FALSE(std::filesystem::exists(folder / "offload") &&
               !std::filesystem::is_empty(folder / "offload"));  // its file has no name
  EXPECT_EQ(p.chosen().name, "as it is");
}
INSTANTIATE_TEST_SUITE_P(Recipes, PlanOf, ::testing::Values("f32", "bf16", "pure-bf16"),
                         [](auto& i) { return i.param == "pure-bf16" ? "pure_bf16" : i.param; });

// Of wide models more is sooner read than made again.
TEST(Plan, ActivationsOnDiskTakeWhatTheySayAndGiveTheSameBits) {
  TrainSetup s = small();
  s.model = {64, 64, 2, 2, 256}, s.batch = 32;
  const Corpus corpus = text();
  TextSubject subject(s, corpus);
  const Recipe r = study::recipe("f32");
  const testing::Folder folder;
  Plan plan = s.plan();
  plan.offload_folder = folder / "offload";
  const MemoryPlan p = plan_training(subject, r, plan, 0, {});
  const std::string bits = train(subject, r, s.plan()).weights;
  int stowed = 0;
  for (const PlanCandidate& c : p.candidates) {
    if (!c.exact || !c.activations_on_disk) continue;
    const Ran ran = train(subject, r, planned(plan, c));
    expect_same_bytes(c, ran.bytes);
    EXPECT_EQ(ran.weights, bits) << c.name;
    EXPECT_EQ(predict(subject, r, planned(plan, c)).bytes.peak.predicted, ran.bytes.peak.measured) << c.name;
    ++stowed;
  }
  EXPECT_GT(stowed, 0);
}

TEST(Plan, TheLeastLimitTrainsAndOneByteLessFailsBeforeAnythingIsAllocated) {
  const TrainSetup s = small();
  const Corpus corpus = text();
  TextSubject subject(s, corpus);
  const Recipe r = study::recipe("f32");
  const int64_t least = plan_training(subject, r, s.plan(), 0, {}).least();
  const MemoryPlan p = plan_training(subject, r, s.plan(), least, {});
  const int64_t live = memory_stats().total;
  set_memory_limit(live + least);
  const Ran ran = train(subject, r, planned(s.plan(), p.chosen()));
  set_memory_limit(0);
  EXPECT_EQ(*ran.bytes.peak.measured, least);
  const MemoryPlan less = plan_training(subject, r, s.plan(), least - 1, {});
  const int64_t allocated = memory_stats().allocations;
  EXPECT_FALSE(less.fits());
  try {
    less.chosen();
    FAIL();
  } catch (const OutOfMemoryError& e) {
    EXPECT_NE(std::string(e.what()).find(std::to_string(least) + " bytes"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("allowing"), std::string::npos) << e.what();
  }
  EXPECT_EQ(memory_stats().allocations, allocated);
}

// States of 64 KiB and more lie there too, and so after a checkpoint has been read.
TEST(Plan, WhatLiesOnDiskIsSavedAndResumedToTheSameBits) {
  TrainSetup s = small();
  s.model.width = 160;
  const Corpus corpus = text();
  TextSubject subject(s, corpus);
  const testing::Folder folder;
  const Recipe r = study::recipe("f32");
  Trainer whole(subject, r, s.plan());
  for (int i = 0; i < 6; ++i) whole.step();
  Plan plan = s.plan();
  plan.on_disk = true, plan.offload_folder = folder / "offload";
  {
    Trainer first(subject, r, plan);
    for (int i = 0; i < 3; ++i) first.step();
    first.save(folder / "saved", "run");
  }
  const int64_t before = memory_stats().total;
  Trainer second(subject, r, plan);
  second.load(folder / "saved", "run");
  int64_t in_memory = 0;
  for (auto& [name, t] : second.optimizer().state_dict())
    if (!is_offloaded(t)) in_memory += t.nbytes();
  EXPECT_LT(in_memory, second.model().nbytes() / 10);
  EXPECT_LT(memory_stats().total - before, second.model().nbytes() / 2);
  for (int i = 0; i < 3; ++i) second.step();
  EXPECT_EQ(second.weights_sha256(), whole.weights_sha256());
}

TEST(Plan, TimeDoesNotGrowWithTheLimit) {
  const TrainSetup s = small();
  const Corpus corpus = text();
  TextSubject subject(s, corpus);
  for (const Allowed allowed : {Allowed{}, Allowed{true, true}}) {
    const MemoryPlan all = plan_training(subject, study::recipe("f32"), s.plan(), 0, allowed);
    const int64_t most = all.chosen().peak(), least = all.least();
    double before = HUGE_VAL;
    for (int i = 0; i <= 8; ++i) {
      const MemoryPlan p = plan_training(subject, study::recipe("f32"), s.plan(), least + (most - least) * i / 8, allowed);
      EXPECT_LE(p.chosen().seconds, before);
      EXPECT_LE(p.chosen().peak(), p.limit);
      before = p.chosen().seconds;
    }
  }
}

TEST(Plan, WhatChangesRoundingsIsTakenOnlyWhenItIsAllowed) {
  const TrainSetup s = small();
  const Corpus corpus = text();
  TextSubject subject(s, corpus);
  const Recipe r = study::recipe("f32");
  const MemoryPlan exact = plan_training(subject, r, s.plan(), 0, {});
  EXPECT_LT(exact.least(false), exact.least());
  const MemoryPlan p = plan_training(subject, r, s.plan(), exact.least() - 1, {.accumulation = true});
  EXPECT_GT(p.chosen().accumulate, 1);
  EXPECT_FALSE(p.chosen().exact);
  const Ran whole = train(subject, r, s.plan()), pieces = train(subject, r, planned(s.plan(), p.chosen()));
  EXPECT_NE(whole.weights, pieces.weights);  // other roundings: why it must be asked for
  EXPECT_THROW(Allowed::parse({"anything"}), ValueError);
}

TEST(Plan, AccumulatedGradientsAreThoseOfTheBatch) {
  TrainSetup s = small();
  const Corpus corpus = text();
  TextSubject subject(s, corpus);
  Plan plan = s.plan();
  Trainer whole(subject, study::recipe("f32"), plan);
  plan.accumulate = 4;
  Trainer pieces(subject, study::recipe("f32"), plan);
  EXPECT_NEAR(whole.step(), pieces.step(), 1e-5);
  const auto a = whole.model().named_parameters(), b = pieces.model().named_parameters();
  for (size_t i = 0; i < a.size(); ++i) {
    const Tensor ga = a[i].second.grad(), gb = b[i].second.grad();
    EXPECT_LT(amax(abs(ga - gb)).item(), 1e-5 * (1e-2 + amax(abs(ga)).item())) << a[i].first;
  }
}

}  // namespace
}  // namespace dyadic::inline v1::study
