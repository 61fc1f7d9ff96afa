// Language models in another basis: the same results, and outliers that cost less.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "dyadic/dyadic.h"
#include "dyadic/models.h"
#include "dyadic/quant.h"
#include "tests/models/apart.h"
#include "tests/test_data.h"

namespace dyadic::testing {
namespace {

using namespace models;

class Rotate : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, Rotate, ::testing::Values("llama", "mistral", "mixtral", "qwen3", "phi3", "ministral3"),
                         [](auto& info) { return std::string(info.param); });

TEST_P(Rotate, ResultsStay) {
  NoGrad guard;
  manual_seed(1);
  const Tensor ids = randint(3, 64, {2, 12});
  for (const DType dtype : {f32, f64}) {
    Model m = models::load(model_data(GetParam()), {.dtype = dtype});
    for (auto& [name, t] : m->named_parameters())
      if (name.ends_with("norm.weight")) t.detach().mul_(rand(t.sizes(), dtype) + 0.5);  // factors that matter
    const Tensor before = m(ids);
    const Tensor weight = m->named_parameters()["model.layers.0.self_attn.o_proj.weight"].clone();
    quant::rotate(*m, 5);
    EXPECT_LT(apart(m(ids), before), dtype == f32 ? 1e-4 : 1e-9) << dtype.name();
    EXPECT_GT(apart(m->named_parameters()["model.layers.0.self_attn.o_proj.weight"], weight), 0.1);
  }
}

// A llama of which two channels of the residual stream are 60 times as large as the others.
std::shared_ptr<CausalLM> with_outliers() {
  const nlohmann::json config = {
      {"model_type", "llama"},  {"vocab_size", 96},         {"hidden_size", 128},          {"intermediate_size", 192},
      {"num_hidden_layers", 2}, {"num_attention_heads", 4}, {"num_key_value_heads", 2},    {"max_position_embeddings", 64},
      {"rms_norm_eps", 1e-5},   {"rope_theta", 10000.0},    {"tie_word_embeddings", false}};
  auto m = models::make(config.dump(), {f32, cpu});
  NoGrad guard;
  manual_seed(4);
  for (auto& [name, t] : m->named_parameters()) {
    if (t.dim() < 2) continue;
    t.copy_(randn(t.sizes()) / std::sqrt(double(t.size(1))));
    const bool rows = name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
    for (int64_t channel : {7, 51})
      if (rows || name == "model.embed_tokens.weight") t.select(rows ? 0 : 1, channel).mul_(60);
  }
  return m;
}

TEST(Rotations, OutliersCostLess) {
  NoGrad guard;
  manual_seed(2);
  const Tensor ids = randint(0, 96, {4, 32});
  for (const char* bits : {"i8(row)", "i4(row)"}) {
    double error[2];
    for (const bool rotated : {false, true}) {
      const auto m = with_outliers();
      const Tensor want = (*m)(ids);
      quant::quantize(*m, {.weights = DType::parse(bits),
                           .activations = DType::parse(bits),
                           .exclude = {"model.embed_tokens.*"},
                           .rotate = rotated});
      const Tensor e = (*m)(ids)-want;
      error[rotated] = std::sqrt((sum(square(e)) / sum(square(want))).item());
    }
    RecordProperty(bits, std::to_string(error[0]) + " and " + std::to_string(error[1]));
    EXPECT_LT(error[1], (bits[1] == '8' ? 0.5 : 0.9) * error[0]) << bits << ": " << error[0] << " and " << error[1];
  }
}

TEST(Rotations, RefuseWhatTheyDoNotKnow) {
  const auto message = [&](nn::Module& m) -> std::string {
    try {
      quant::rotate(m);
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  for (const char* family : {"gpt2", "gemma2", "olmo2", "deepseek_v3", "gpt_oss", "qwen3_5"}) {
    Model m = models::load(model_data(family), {.dtype = f32});
    const nn::NamedTensors state = m->state_dict();
    nn::NamedTensors before;
    for (auto& [name, t] : state) before.emplace_back(name, t.clone());
    EXPECT_NE(message(*m).find("rotate: "), std::string::npos) << family;
    for (size_t i = 0; i < state.size(); ++i) EXPECT_TRUE(equal(state[i].second, before[i].second)) << family;
  }
  Model tied = models::load(model_data("qwen2"), {.dtype = f32});
  EXPECT_NE(message(*tied).find("head is its embedding"), std::string::npos);
  nn::Linear linear(4, 4);
  EXPECT_NE(message(linear).find("rotate: the model is Linear"), std::string::npos);
  Model stored = models::load(model_data("llama"), {.dtype = DType::parse("i8(row)")});
  EXPECT_NE(message(*stored).find("before it is quantized"), std::string::npos);
}

}  // namespace
}  // namespace dyadic::testing
