// nanoGPT's recipe as the preset has it, for a short piece of the way: the loss that every recipe has then, and the same bits
// for any number of threads.
#include <gtest/gtest.h>

#include "base/parallel.h"
#include "study/evaluate.h"
#include "study/preset.h"
#include "study/trainer.h"

namespace dyadic::testing {
namespace {

using namespace study;

struct Result {
  double loss = 0, lost = 0;
  std::string weights;
};

Result train(const char* name, DType state = f32) {
  const Preset& p = preset("nanogpt-cpu");
  Corpus corpus = Corpus::load({}, p.tokens);
  Recipe r = recipe(name);
  if (state != f32) r.states = state;
  TrainSetup setup = p.setup;
  setup.model.vocab = corpus.vocabulary().size();
  setup.seed = 1;
  TextSubject subject(setup, corpus);
  Trainer trainer(subject, r, setup.plan());
  for (int i = 0; i < 200; ++i) trainer.step();
  double loss = 0;
  TextBatches others(corpus, setup.model.block, 4 * setup.batch, setup.seed + 1);
  for (int64_t i = 0; i < 20; ++i) {
    auto [x, y] = batch_tensors(others, i, 4 * setup.batch, setup.model.block);
    NoGrad guard;
    loss += subject.mean_loss(trainer.model(), data::Value::List{x, y}).item() / 20;
  }
  return {loss, trainer.optimizer().updates().share(), trainer.weights_sha256()};
}

TEST(NanoGpt, EveryRecipeLearnsAlike) {
  const int threads = num_threads();
  set_num_threads(1);
  const Result f32_one = train("f32");
  set_num_threads(3);
  const Result f32_run = train("f32");
  set_num_threads(threads);
  EXPECT_EQ(f32_run.weights, f32_one.weights);
  EXPECT_LT(f32_run.loss, 2.9);  // by the characters' frequencies: 3.6
  EXPECT_NEAR(train("bf16").loss, f32_run.loss, 0.02);
  EXPECT_NEAR(train("f16").loss, f32_run.loss, 0.02);
  EXPECT_NEAR(train("f32", dynamic8).loss, f32_run.loss, 0.02);
  const Result lossy = train("pure-bf16"), stochastic = train("pure-bf16-sr");
  EXPECT_GT(lossy.lost, 0.1);
  EXPECT_LT(stochastic.loss, f32_run.loss + 0.1);
  EXPECT_LT(stochastic.loss, lossy.loss);
}

TEST(NanoGpt, HasNoBiases) {
  const Preset& p = preset("nanogpt-cpu");
  models::GptConfig config = p.setup.model;
  config.vocab = 65;
  models::Gpt model(config, {f32, meta});
  for (auto& [name, t] : model.named_parameters()) EXPECT_TRUE(name.ends_with("weight")) << name;
  EXPECT_EQ(model.num_parameters(), 804'096);  // nanoGPT prints 0.80M, without positions
}

}  // namespace
}  // namespace dyadic::testing
