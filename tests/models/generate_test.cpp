// Choosing tokens: the order of what narrows a distribution, against transformers' own processors (data/make_sampling.py), and
// the ends of generation.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dyadic/dyadic.h"
#include "dyadic/io.h"
#include "dyadic/models.h"
#include "models/sampling.h"
#include "tests/test_data.h"

namespace dyadic::testing {
namespace {

using nlohmann::json;
using namespace models;

const std::vector<int64_t> kNone;

TEST(Sampling, WhatIsLeftIsWhatTransformersLeaves) {
  std::ifstream in(model_data("sampling.json"));
  const json all = json::parse(in);
  const auto logits = all["logits"].get<std::vector<float>>();
  const auto seen = all["seen"].get<std::vector<int64_t>>();
  for (const json& c : all["cases"]) {
    const json& w = c["with"];
    GenerateOptions o{.do_sample = true,
                      .repetition_penalty = w.value("repetition_penalty", 1.0),
                      .temperature = w.value("temperature", 1.0),
                      .top_k = w.value("top_k", int64_t(0)),
                      .top_p = w.value("top_p", 1.0),
                      .min_p = w.value("min_p", 0.0)};
    const std::vector<Candidate> got = candidates(logits, seen, o);
    const auto want = c["probabilities"].get<std::vector<double>>();
    double sum = 0;
    size_t kept = 0;
    for (double p : want) kept += p > 0;
    EXPECT_EQ(got.size(), kept) << w.dump();
    for (const Candidate& x : got) {
      EXPECT_NEAR(x.p, want[size_t(x.id)], 1e-6) << w.dump() << " token " << x.id;
      sum += x.p;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  EXPECT_GE(all["cases"].size(), 10u);
}

TEST(Sampling, TokensComeAsOftenAsTheirShare) {
  const std::vector<float> logits{0, std::log(2.f), -INFINITY, std::log(5.f)};
  const GenerateOptions o{.do_sample = true};
  int64_t counts[4] = {};
  for (int i = 0; i < 8000; ++i) ++counts[choose(logits, {}, o, (double(i) + 0.5) / 8000)];
  const int64_t shares[4] = {1000, 2000, 0, 5000};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(counts[i], shares[i]) << i;
  const std::vector<float> broken{NAN, INFINITY};
  EXPECT_THROW(choose(broken, {}, o, 0), ValueError);
  EXPECT_THROW(choose(broken, {}, {}, 0), ValueError);
}

TEST(Generation, TheSameSeedMakesTheSameChoices) {
  Model m = models::load(model_data("llama"), {.dtype = f32});
  const Tensor ids = full({3, 4}, 7, i64);
  const auto with = [&](uint64_t seed) {
    return m.generate(ids, {.max_new_tokens = 12, .do_sample = true, .temperature = 2, .eos_token_id = kNone, .seed = seed});
  };
  const Tensor a = with(1);
  rand({5});  // other draws change nothing
  EXPECT_TRUE(equal(a, with(1)));
  EXPECT_FALSE(equal(a, with(2)));
  EXPECT_FALSE(equal(a[0], a[1]));  // rows draw their own
}

TEST(Generation, EndsAndFillsRows) {
  Model m = models::load(model_data("llama"), {.dtype = f32});
  const Tensor ids = cat(std::vector{full({1, 4}, 7, i64), full({1, 4}, 9, i64)}, 0);
  const Tensor all = m.generate(ids, {.max_new_tokens = 8, .eos_token_id = kNone});
  const auto third = int64_t(all[0][6].item());
  GenerateOptions o{.max_new_tokens = 8, .eos_token_id = std::vector<int64_t>{third}, .pad_token_id = 63};
  const Tensor ended = m.generate(ids, o);
  for (int64_t b = 0; b < 2; ++b) {
    bool done = false;
    for (int64_t i = 4; i < ended.size(1); ++i) {
      EXPECT_EQ(ended[b][i].item(), done ? 63 : all[b][i].item()) << b << " " << i;
      done = done || all[b][i].item() == third;
    }
  }
  int64_t first = 4;
  while (all[0][first].item() != double(third)) ++first;
  EXPECT_EQ(m.generate(narrow(ids, 0, 0, 1), o).size(1), first + 1);  // it ends with its only row
  EXPECT_TRUE(equal(m.generate(ids, {.max_new_tokens = 0}), ids));
}

TEST(Generation, TellsWhoListensAndStopsForThem) {
  struct Two : Streamer {
    std::vector<std::vector<int64_t>> told;
    bool put(std::span<const int64_t> tokens) override {
      told.emplace_back(tokens.begin(), tokens.end());
      return told.size() < 2;
    }
  } two;
  Model m = models::load(model_data("gpt2"), {.dtype = f32});
  const Tensor all = m.generate(full({2, 3}, 5, i64), {.max_new_tokens = 9, .eos_token_id = kNone, .streamer = &two});
  ASSERT_EQ(all.size(1), 5);
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t b = 0; b < 2; ++b) EXPECT_EQ(all[b][3 + i].item(), two.told[size_t(i)][size_t(b)]);
}

TEST(Generation, RefusesWhatIsOutOfRange) {
  Model m = models::load(model_data("llama"), {.dtype = f32});
  const Tensor ids = full({2, 4}, 7, i64);
  const auto message = [&](const Tensor& prompt, const GenerateOptions& o) -> std::string {
    try {
      m.generate(prompt, o);
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  EXPECT_EQ(message(ids, {.do_sample = true, .top_p = 1.5}), "generate: top_p is 1.5, not in (0, 1]");
  EXPECT_EQ(message(ids, {.do_sample = true, .temperature = 0}),
            "generate: temperature is 0, not above 0; do_sample=False takes the likeliest token");
  EXPECT_EQ(message(ids, {.repetition_penalty = -1}), "generate: repetition_penalty is -1, not above 0");
  EXPECT_EQ(message(ids.to(f32), {}), "generate: ids are i64 [B, T], at least one each: they are f32[2, 4]");
  EXPECT_EQ(message(ids, {.attention_mask = tensor({{1, 1, 1, 0}, {1, 1, 1, 1}})}),
            "generate: attention_mask: row 0 is to be zeros and then ones: shorter rows are padded on their left");
}

TEST(CausalLM, LossIsTheMeanOverSuccessors) {
  Model m = models::load(model_data("qwen2"), {.dtype = f32});
  manual_seed(1);
  const Tensor ids = randint(3, 64, {2, 9});
  Tensor labels = ids.clone();
  labels[0][3].fill_(-100);
  const Tensor all = log_softmax(m(ids), -1);
  double sum = 0;
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 1; t < 9; ++t)
      if (b != 0 || t != 3) sum -= double(all[b][t - 1][int64_t(ids[b][t].item())].item());
  EXPECT_NEAR(m->loss(ids, labels).item(), sum / 15, 1e-5);
}

TEST(CausalLM, TrainsThroughEveryWeight) {
  for (const char* family : {"gemma3", "qwen2_moe", "gpt_oss", "gpt2"}) {
    Model m = models::load(model_data(family), {.dtype = f32});
    manual_seed(1);
    const Tensor ids = randint(3, 64, {4, 16});
    m->loss(ids, ids).backward();
    for (auto& [name, t] : m->named_parameters()) {
      ASSERT_TRUE(t.grad().defined()) << family << " " << name;
      EXPECT_GT(amax(abs(t.grad())).item(), 0) << family << " " << name;
    }
  }
}

}  // namespace
}  // namespace dyadic::testing
