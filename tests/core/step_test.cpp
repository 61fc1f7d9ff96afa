// One training step of a transformer: what is predicted is what is allocated, and the bits do not depend on the threads.
#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.h"
#include "dyadic/counters.h"
#include "study/evaluate.h"
#include "study/text_subject.h"
#include "study/trainer.h"

namespace dyadic::inline v1::study {
namespace {

TrainSetup small() {
  TrainSetup s;
  s.model = {64, 16, 2, 2, 32};
  s.batch = 3;
  s.steps = 12;
  return s;
}
Corpus text() {
  std::string t;
  for (int i = 0; i < 400; ++i) t += "the quick brown fox " + std::to_string(i * 7919 % 1000) + "\n";
  return Corpus::from_text(t, TokenKind::chars);
}

class EachRecipe : public testing::TestWithParam<std::string> {};

TEST_P(EachRecipe, PredictedBytesAreTheMeasuredOnes) {
  TrainSetup s = small();
  Corpus corpus = text();
  s.model.vocab = corpus.vocabulary().size();
  TextSubject subject(s, corpus);
  Bytes b = predict(subject, study::recipe(GetParam()), s.plan()).bytes;
  MemoryStats before = memory_stats();
  Trainer t(subject, study::recipe(GetParam()), s.plan());
  reset_peak_memory_stats();
  for (int i = 0; i < 4; ++i) t.step();
  fill_bytes(b, memory_stats(), before, &Amount::measured);
  for (auto& [what, amount] : {std::pair{"parameters", b.parameters},
                               {"gradients", b.gradients},
                               {"optimizer", b.optimizer},
                               {"activations", b.activations},
                               {"workspace", b.workspace},
                               {"temporary", b.temporary},
                               {"data", b.data},
                               {"peak", b.peak}})
    EXPECT_EQ(*amount.predicted, *amount.measured) << what;
  EXPECT_GT(*b.gradients.measured, 0);
  EXPECT_GT(*b.optimizer.measured, 0);
}

TEST_P(EachRecipe, TheSameBitsForAnyNumberOfThreads) {
  TrainSetup s = small();
  Corpus corpus = text();
  s.model.vocab = corpus.vocabulary().size();
  int had = num_threads();
  std::string first;
  for (int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    TextSubject subject(s, corpus);
    Trainer t(subject, study::recipe(GetParam()), s.plan());
    for (int i = 0; i < 5; ++i) t.step();
    std::string hash = t.weights_sha256();
    if (first.empty()) first = hash;
    EXPECT_EQ(hash, first) << threads << " threads";
  }
  set_num_threads(had);
}

TEST_P(EachRecipe, LearnsAndMultipliesInItsDtype) {
  TrainSetup s = small();
  s.steps = 60;
  s.lr = 1e-2;
  Corpus corpus = text();
  s.model.vocab = corpus.vocabulary().size();
  TextSubject subject(s, corpus);
  Trainer t(subject, study::recipe(GetParam()), s.plan());
  Counting::clear();
  double first, last = 0;
  {
    Counting counting;
    first = t.step();
  }
  const Recipe& r = study::recipe(GetParam());
  std::string expected = (r.compute ? r.compute : r.parameters).name();
  int64_t products = 0;
  for (const OpCount& c : Counting::counts())
    if (c.op == "linear" || c.op == "matmul" || c.op.find("attention") != std::string::npos) {
      EXPECT_EQ(c.dtype.name(), expected) << c.op;
      products += c.calls;
    }
  EXPECT_GT(products, 0);
  for (int i = 1; i < 60; ++i) last = t.step();
  EXPECT_LT(last, first - 1.0);
}

INSTANTIATE_TEST_SUITE_P(Recipes, EachRecipe, testing::Values("f32", "bf16", "f16", "pure-bf16", "pure-bf16-sr", "bf16-adam8"),
                         [](const auto& p) {
                           std::string name = p.param;
                           for (char& c : name)
                             if (!isalnum(c)) c = '_';
                           return name;
                         });

TEST(Rounding, KnownOverflowsAndFlushesAreCountedExactly) {
  RoundingCounting::clear();
  const Tensor x = tensor({1.0, 70000.0, -1e10, 1e-9, 0.0, 2.0, INFINITY, 6e-8});
  {
    RoundingCounting counting;
    x.to(f16);
  }
  auto counts = RoundingCounting::counts();
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts[0].op, "to");
  EXPECT_EQ(counts[0].elements, 8);
  EXPECT_EQ(counts[0].overflows, 2);  // 70000 and -1e10; infinity was one already
  EXPECT_EQ(counts[0].flushed, 1);    // 1e-9; 6e-8 is a subnormal of f16
}

TEST(NotFinite, NamesTheFirstOpAndModule) {
  TrainSetup s = small();
  Corpus corpus = text();
  s.model.vocab = corpus.vocabulary().size();
  TextSubject subject(s, corpus);
  Trainer t(subject, study::recipe("f32"), s.plan());
  t.step();
  NoGrad guard;
  static_cast<models::Gpt&>(t.model()).blocks[1].fc.weight.fill_(3e38);
  t.step();
  ASSERT_TRUE(t.nan().has_value());
  EXPECT_EQ(t.nan()->op, "linear");
  EXPECT_EQ(t.nan()->module, "blocks.1.fc");
  EXPECT_EQ(t.steps_done(), 1);
}

}  // namespace
}  // namespace dyadic::inline v1::study
