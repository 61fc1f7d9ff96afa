// Runs of fine-tuning: what is learned, saved, resumed to the same bits and merged; what it takes.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "dyadic/eval.h"
#include "dyadic/finetune.h"
#include "dyadic/io.h"
#include "dyadic/model_files.h"
#include "models/loss.h"
#include "tests/models/apart.h"
#include "tests/tune/small_world.h"
#include "tune/answers.h"

namespace dyadic::testing {
namespace {

using nlohmann::json;
using namespace tune;
using models::LoraConfig;

std::string content(const std::string& folder, const char* name) { return text_of_file(folder + "/" + name); }

const FinetuneOptions kShort{.lora = LoraConfig{.r = 4, .lora_alpha = 8, .lora_dropout = 0.1},
                             .context = 64,
                             .steps = 8,
                             .batch = 2,
                             .accumulate = 2,
                             .lr = 1e-2,
                             .eval_split = 0.2,
                             .eval_every = 4,
                             .checkpoint_every = 3};

TEST(Finetune, LearnsAnAdapterThatLoads) {
  const std::string out = new_folder("adapter");
  const models::Model m = models::load(trained_model(), {.dtype = f32});
  FinetuneOptions o = kShort;
  o.out = out, o.model_path = trained_model(), o.steps = 40;
  const FinetuneReport r = finetune(*m, tokenizer(), chats(5), o);
  EXPECT_TRUE(r.finished);
  EXPECT_EQ(r.steps, 40);
  EXPECT_EQ(r.samples, 51);
  EXPECT_EQ(r.eval_samples, 13);
  EXPECT_LT(r.rows, r.samples);
  EXPECT_LT(*r.eval_loss, 0.5 * *r.eval_loss_before);
  EXPECT_FALSE(std::filesystem::exists(out + "/checkpoints"));
  EXPECT_EQ(json::parse(content(out, "adapter_config.json"))["base_model_name_or_path"], trained_model());
  EXPECT_TRUE(std::filesystem::exists(out + "/tokenizer.json"));
  EXPECT_NE(content(out, "history.csv").find("eval_loss"), std::string::npos);
  const NoGrad guard;
  const Tensor ids = tensor({3, 1, 4, 1, 5, 9}, i64).reshape({1, 6});
  const models::Model again = models::load(trained_model(), {.dtype = f32});
  models::load_adapter(*again, out);
  EXPECT_TRUE(equal(again(ids), m(ids)));
}

struct Stop {
  int64_t at;
  static bool step(void* self, const Step& s) { return s.step < static_cast<Stop*>(self)->at; }
};

// Stopped twice and resumed, in the middle of an epoch: the adapter and its losses are those of an unbroken run, bit by bit.
TEST(Finetune, ResumedRunsGiveTheSameBits) {
  for (const bool adapter : {true, false}) {
    FinetuneOptions o = kShort;
    if (!adapter) o.lora.reset();
    const std::string whole = new_folder("whole"), broken = new_folder("broken");
    const auto run = [&](const std::string& out, int64_t stop, bool resume) {
      const models::Model m = models::load(trained_model(), {.dtype = adapter ? DType::parse("q8_0") : bf16});
      o.out = out, o.resume = resume;
      Stop at{stop};
      o.on_step = Stop::step, o.caller = &at;
      return finetune(*m, tokenizer(), chats(5), o);
    };
    const FinetuneReport unbroken = run(whole, 100, false);
    const FinetuneReport first = run(broken, 2, false);
    EXPECT_FALSE(first.finished);
    EXPECT_EQ(first.steps, 2);
    EXPECT_EQ(run(broken, 5, true).steps, 5);
    const FinetuneReport last = run(broken, 100, true);
    EXPECT_TRUE(last.finished);
    const char* weights = adapter ? "adapter_model.safetensors" : "model.safetensors";
    EXPECT_EQ(content(whole, weights), content(broken, weights));
    EXPECT_EQ(content(whole, "history.csv"), content(broken, "history.csv"));
    EXPECT_EQ(last.train_loss, unbroken.train_loss);
    EXPECT_EQ(*last.eval_loss_before, *unbroken.eval_loss_before);
    EXPECT_EQ(*last.eval_loss, *unbroken.eval_loss);
  }
}

// As many steps on the same rows, whether they come as one batch or as several.
TEST(Finetune, AccumulatedBatchesAreOneLargeBatch) {
  std::vector<double> losses;
  for (const int64_t accumulate : {1, 4}) {
    const models::Model m = models::load(trained_model(), {.dtype = f32});
    FinetuneOptions o{.lora = LoraConfig{.r = 4},
                      .context = 64,
                      .packing = false,
                      .steps = 2,
                      .batch = 4 / accumulate,
                      .accumulate = accumulate};
    losses.push_back(finetune(*m, tokenizer(), chats(5), o).train_loss);
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-5 * losses[0]);
}

// QLoRA: an adapter on a base of 4 bits reaches what one on the float32 base does, on samples that neither has seen.
TEST(Finetune, AdaptersOnNf4LearnAsMuch) {
  if (kSanitized) GTEST_SKIP() << "what is learned is the same, and takes two minutes";
  std::vector<double> losses;
  for (const DType base : {f32, DType::parse("nf4")}) {
    const models::Model m = models::load(
        trained_model(), base.is_scaled() ? models::LoadOptions{.linear = base} : models::LoadOptions{.dtype = base});
    FinetuneOptions o{.lora = LoraConfig{.r = 16, .lora_alpha = 32}, .context = 64, .epochs = 2, .batch = 4, .lr = 5e-3};
    o.eval = sentences(300, 2);
    const FinetuneReport r = finetune(*m, tokenizer(), sentences(2000, 1), o);
    EXPECT_LT(*r.eval_loss, 0.5 * *r.eval_loss_before);
    losses.push_back(*r.eval_loss);
  }
  EXPECT_LT(losses[1], losses[0] + 0.01);
}

// What is said before it starts is what a step takes.
TEST(Finetune, MemoryIsPredicted) {
  const int64_t most = models::g_most_logit_bytes;
  for (const auto& [base, logits] :
       std::initializer_list<std::pair<const char*, int64_t>>{{"nf4", most}, {"f32", most}, {"nf4", 1}}) {
    models::g_most_logit_bytes = logits;
    FinetuneOptions o = kShort;
    if (std::string(base) == "f32") o.lora.reset();
    const MemoryStats empty = memory_stats();
    const models::Model m = models::load(small_model(), {.dtype = DType::parse(base)});
    const MemoryUse predicted = predict(*m, o);
    if (o.lora) models::add_adapter(*m, *o.lora);
    std::vector<Sample> samples;
    for (int i = 0; i < 2; ++i) samples.push_back({std::vector<int64_t>(64, 7), std::vector<bool>(64, true)});
    const std::vector<Row> rows = rows_of(samples, 64, true);
    const train::Window window(2, {0.5, batch_of({&rows[0], &rows[1]}, true)});
    Answers answers(*m);
    m->train();
    Stepper stepper(*m, answers, {});
    reset_peak_memory_stats();
    stepper.step(window), stepper.step(window);
    const MemoryStats s = memory_stats();
    const auto peak = [&](Category c) { return s.peak[size_t(c)] - empty.live[size_t(c)]; };
    EXPECT_EQ(predicted.parameters, peak(Category::parameter)) << base;
    EXPECT_EQ(predicted.gradients, peak(Category::gradient)) << base;
    EXPECT_EQ(predicted.optimizer, peak(Category::optimizer)) << base;
    EXPECT_EQ(predicted.activations, peak(Category::activation)) << base;
    EXPECT_LT(std::abs(double(predicted.peak) / double(s.total_peak - empty.total) - 1), 0.02) << base;
  }
  models::g_most_logit_bytes = most;
}

// A limit below what a step takes: calls are made again, to the same bits, and no more is taken than the limit.
TEST(Finetune, FitsIntoALimitToTheSameBits) {
  const auto trained = [](int64_t limit, FinetuneReport& r) {
    const models::Model m = models::load(trained_model(), {.dtype = f32});
    FinetuneOptions o = kShort;
    o.memory_limit = limit, o.eval_split = 0, o.eval_every = 0;
    reset_peak_memory_stats();
    const int64_t before = memory_stats().live[size_t(Category::activation)];
    r = finetune(*m, tokenizer(), chats(5), o);
    EXPECT_LE(memory_stats().peak[size_t(Category::activation)] - before, r.predicted.activations);
    return m->state_dict();
  };
  FinetuneReport free, bound;
  const nn::NamedTensors want = trained(0, free);
  EXPECT_EQ(free.repeated_calls, 0);
  const int64_t limit = free.predicted.peak - free.predicted.activations / 3;
  const nn::NamedTensors got = trained(limit, bound);
  EXPECT_GT(bound.repeated_calls, 0);
  EXPECT_LE(bound.predicted.peak, limit);
  EXPECT_LT(bound.predicted.activations, free.predicted.activations);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(equal(got[i].second, want[i].second)) << got[i].first;
  try {
    trained(free.predicted.parameters, bound);
    FAIL();
  } catch (const OutOfMemoryError& e) {
    EXPECT_NE(std::string(e.what()).find("the least that a step takes is"), std::string::npos) << e.what();
  }
}

TEST(Finetune, MergesWhereItCostsLeast) {
  const std::string out = new_folder("merged");
  const models::Model m = models::load(trained_model(), {.linear = nf4});
  FinetuneOptions o = kShort;
  o.out = out, o.model_path = trained_model(), o.steps = 40, o.merge = Merge::best;
  const FinetuneReport r = finetune(*m, tokenizer(), chats(5), o);
  ASSERT_EQ(r.merges.size(), 3u);
  const auto of = [&](Merge into) { return *std::ranges::find(r.merges, into, &MergeChoice::into); };
  EXPECT_LT(of(Merge::dequantized).error, 1e-6);
  EXPECT_GT(of(Merge::requantized).error, 1e-4);
  EXPECT_GT(of(Merge::original).error, 1e-4);
  EXPECT_LT(of(Merge::requantized).bytes, of(Merge::original).bytes);
  size_t chosen = 0;
  for (const MergeChoice& c : r.merges) {
    chosen += c.chosen;
    for (const MergeChoice& other : r.merges) EXPECT_TRUE(!c.chosen || c.loss <= other.loss);
  }
  EXPECT_EQ(chosen, 1u);
  EXPECT_EQ(m->adapter, nullptr);
  const models::Model merged = models::load(out + "/merged");
  const NoGrad guard;
  const Tensor ids = tensor({3, 1, 4, 1, 5, 9}, i64).reshape({1, 6});
  EXPECT_LT(apart(merged(ids).to(f32), m(ids).to(f32)), 1e-5);
  models::convert(out + "/merged", out + "/merged.gguf");
  EXPECT_LT(apart(models::load(out + "/merged.gguf")(ids).to(f32), m(ids).to(f32)), 1e-5);
  EXPECT_EQ(Tokenizer::load(out + "/merged.gguf").encode("Where?"), tokenizer().encode("Where?"));
}

TEST(Finetune, Refuses) {
  const auto words = [](const FinetuneOptions& o, DType dtype = f32, const Data& data = chats(5)) -> std::string {
    try {
      finetune(*models::load(small_model(), {.dtype = dtype}), tokenizer(), data, o);
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  EXPECT_NE(words({}, DType::parse("q8_0")).find("is q8_0, which takes no gradients: give lora"), std::string::npos);
  EXPECT_NE(words({.merge = Merge::best}).find("give out, a folder"), std::string::npos);
  EXPECT_NE(words({.out = "x", .merge = Merge::best}).find("merge is for an adapter: give lora"), std::string::npos);
  EXPECT_NE(words({.batch = 0}).find("batch is 0, not above 0"), std::string::npos);
  EXPECT_NE(words({.eval_split = 0.999}).find("leaves none to train on"), std::string::npos);
  EXPECT_NE(words({}, f32, {"{}", "d"}).find("d: line 1: expected"), std::string::npos);
  const std::string out = new_folder("again");
  FinetuneOptions o = kShort;
  Stop stop{2};
  o.out = out, o.on_step = Stop::step, o.caller = &stop;
  EXPECT_EQ(words(o), "");
  EXPECT_NE(words(o).find("holds a run already: resume it"), std::string::npos);
  o.resume = true, o.lr = 0.5;
  EXPECT_NE(words(o).find("holds another run: config: lr"), std::string::npos) << words(o);
  o.lr = kShort.lr, stop.at = 100;
  EXPECT_EQ(words(o), "");
  EXPECT_NE(words(o).find("is finished: take another folder"), std::string::npos);
  EXPECT_THROW(parse_lora("rnk=3"), ValueError);
  EXPECT_EQ(parse_lora("rank=16").lora_alpha, 32);
  EXPECT_EQ(parse_lora("rank=4,alpha=4,targets=q_proj+v_proj,dora").target_modules,
            (std::vector<std::string>{"q_proj", "v_proj"}));
}

}  // namespace
}  // namespace dyadic::testing
