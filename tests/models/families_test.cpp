// Every family against what transformers computes with the same weights (data/make_models.py): logits, greedy continuations,
// batches padded on their left; and each part that a family differs in, left out, is noticed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dyadic/dyadic.h"
#include "dyadic/io.h"
#include "dyadic/models.h"
#include "tests/models/apart.h"
#include "tests/test_data.h"

namespace dyadic::testing {
namespace {

using nlohmann::json;
using namespace models;

// Every model that data/make_models.py made.
std::vector<std::string> stored_models() {
  std::vector<std::string> all;
  for (auto& entry : std::filesystem::directory_iterator(test_data("models/data")))
    if (std::filesystem::exists(entry.path() / "model.safetensors")) all.push_back(entry.path().filename());
  std::ranges::sort(all);
  return all;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}
std::map<std::string, Tensor> expected(const std::string& family) {
  std::map<std::string, Tensor> all;
  for (auto& [name, t] : io::load_safetensors(model_data(family) + "/expected.safetensors").tensors) all[name] = t;
  return all;
}
std::shared_ptr<CausalLM> with_config(const std::string& family, const json& config) {
  return from_file(config.dump(), *io::open(model_data(family) + "/model.safetensors"), {.dtype = f32});
}
// The largest difference, as a share of the largest.
int64_t differences(const Tensor& a, const Tensor& b) { return int64_t(sum(ne(a, b).to(i64)).item()); }

class Families : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, Families, ::testing::ValuesIn(stored_models()), [](auto& info) { return info.param; });

TEST(Families, EachHasAStoredModel) {
  const std::vector<std::string> stored = stored_models();
  for (std::string family : families()) {
    if (family.ends_with("_text")) family.resize(family.size() - 5);  // what the text part of a larger model says for itself
    EXPECT_TRUE(std::ranges::find(stored, family) != stored.end()) << family;
  }
}

TEST_P(Families, LogitsAreTransformers) {
  auto want = expected(GetParam());
  Model m = models::load(model_data(GetParam()), {.dtype = f32});
  NoGrad guard;
  EXPECT_LT(apart(m(want["ids"]), want["logits"]), 1e-4);
}

TEST_P(Families, GreedyContinuationsAreTransformers) {
  auto want = expected(GetParam());
  Model m = models::load(model_data(GetParam()), {.dtype = f32});
  if (!want.contains("greedy")) {
    EXPECT_THROW(m.generate(want["ids"]), ValueError);
    GTEST_SKIP() << "it does not go on with a text";
  }
  const std::vector<int64_t> none;
  EXPECT_EQ(differences(m.generate(want["ids"], {.max_new_tokens = 10, .eos_token_id = none}), want["greedy"]), 0);
  const Tensor mask = ne(want["padded"], 0).to(i64);
  GenerateOptions o{.max_new_tokens = 10, .eos_token_id = none, .attention_mask = mask};
  EXPECT_EQ(differences(m.generate(want["padded"], o), want["padded_greedy"]), 0);
  o.prompt_chunk = 3;
  EXPECT_EQ(differences(m.generate(want["padded"], o), want["padded_greedy"]), 0);
}

// Windows here are 5 and 9 wide, so that 40 tokens cross their edges, and their buffers', many times.
TEST_P(Families, CachedStepsAreTheFullForward) {
  // In f64: what rounding leaves apart, where fewer rows are multiplied in another order, is far below any mistake.
  Model m = models::load(model_data(GetParam()), {.dtype = f64});
  NoGrad guard;
  manual_seed(3);
  const Tensor ids = randint(3, 64, {2, 40}), full = m(ids);
  if (!expected(GetParam()).contains("greedy")) {
    Cache cache;
    EXPECT_THROW(m(ids, cache), ValueError);
    GTEST_SKIP() << "it keeps nothing of a text";
  }
  for (int64_t step : {1, 4, 7}) {
    Cache cache;
    cache.expect(40);
    std::vector<Tensor> parts;
    for (int64_t at = 0; at < 40; at += step) parts.push_back(m(narrow(ids, 1, at, std::min(step, 40 - at)), cache));
    EXPECT_LT(apart(cat(parts, 1), full), 1e-12) << step << " tokens a step";
    EXPECT_EQ(cache.length(), 40);
  }
}

TEST_P(Families, SavedAgainItIsTheSame) {
  const std::string there = ::testing::TempDir() + "families_" + GetParam();
  Model m = models::load(model_data(GetParam()));
  m->save_pretrained(there);
  Model again = models::load(there);
  auto want = m->named_parameters(), got = again->named_parameters();
  ASSERT_EQ(want.keys(), got.keys());
  for (auto& [name, t] : want) {
    EXPECT_EQ(got[name].dtype(), bf16) << name;
    EXPECT_TRUE(equal(got[name], t)) << name;
  }
  auto names = io::load_safetensors(model_data(GetParam()) + "/model.safetensors").tensors;
  EXPECT_EQ(names.size(), want.size());
  for (auto& [name, t] : names) EXPECT_TRUE(want.contains(name)) << name;
}

TEST_P(Families, OtherDialectsOfTheConfigurationSayTheSame) {
  json c = json::parse(text_of(model_data(GetParam()) + "/config.json"));
  c["torch_dtype"] = c["dtype"], c.erase("dtype");
  if (c.contains("rope_parameters")) {
    json r = c["rope_parameters"];
    if (r.contains("full_attention") && r["full_attention"]["rope_type"] == "proportional")
      GTEST_SKIP() << "it is younger than the older dialect";
    if (r.contains("full_attention")) {
      c["rope_theta"] = r["full_attention"]["rope_theta"], c["rope_local_base_freq"] = r["sliding_attention"]["rope_theta"];
      r = r["full_attention"];
    } else {
      c["rope_theta"] = r["rope_theta"];
    }
    if (r.contains("partial_rotary_factor"))
      c["partial_rotary_factor"] = r["partial_rotary_factor"], r.erase("partial_rotary_factor");
    r.erase("rope_theta");
    if (r["rope_type"] != "default") r["type"] = r["rope_type"], r.erase("rope_type"), c["rope_scaling"] = r;
    c.erase("rope_parameters");
  }
  auto want = expected(GetParam());
  NoGrad guard;
  EXPECT_LT(apart((*with_config(GetParam(), c))(want["ids"]), want["logits"]), 1e-4);
}

TEST_P(Families, NarrowFormatsAreForTheWeightsThatProductsRead) {
  auto want = expected(GetParam());
  NoGrad guard;
  for (const char* format : {"i8(group=4)", "nf4(block=4)", "f8e4m3fn", "bf16"}) {
    const DType dtype = DType::parse(format);
    Model m = models::load(model_data(GetParam()), {.dtype = dtype});
    int64_t stored = 0;
    for (auto& [name, t] : m->named_parameters()) {
      stored += t.dtype() == dtype;
      EXPECT_TRUE(t.dim() > 1 || t.dtype() == (dtype == bf16 ? bf16 : f32)) << name;
    }
    EXPECT_GT(stored, 8) << format;
    const Tensor got = m(want["ids"]);
    EXPECT_EQ(got.dtype(), dtype == bf16 ? bf16 : f32) << format;
    EXPECT_TRUE(std::isfinite(double(amax(abs(got)).item())));
    EXPECT_GT(apart(got.to(f32), want["logits"]), 1e-5) << format;
    if (dtype == bf16) continue;  // it is computed with as well
    // What is stored is what is computed with: the same values in float32 give the same.
    Model plain = models::load(model_data(GetParam()), {.dtype = f32});
    nn::NamedItems<Tensor> to = plain->named_parameters();
    for (auto& [name, t] : m->named_parameters()) to[name].detach().copy_(t.detach().to(f32));
    EXPECT_LT(apart(got, plain(want["ids"])), 1e-4) << format;
  }
}

// What a family differs in, left out: the stored logits notice.
struct LeftOut {
  const char *family, *change;  // a JSON merge patch
};
const LeftOut kLeftOut[] = {
    {"mistral", R"({"sliding_window": null})"},
    {"qwen2", R"({"use_sliding_window": false})"},
    {"qwen2", R"({"max_window_layers": 0, "layer_types": null})"},
    {"gemma2", R"({"attn_logit_softcapping": null})"},
    {"gemma2", R"({"final_logit_softcapping": null})"},
    {"gemma2", R"({"query_pre_attn_scalar": 12})"},
    {"gemma2", R"({"layer_types": ["full_attention", "full_attention"]})"},
    {"gemma3", R"({"layer_types": ["full_attention", "full_attention"]})"},
    {"gemma3", R"({"rope_parameters": {"full_attention": {"factor": 1.0}}})"},
    {"gemma3", R"({"rope_parameters": {"sliding_attention": {"rope_theta": 100.0}}})"},
    {"phi3", R"({"sliding_window": null})"},
    {"phi3", R"({"rope_parameters": {"rope_type": "default"}})"},
    {"phi3", R"({"max_position_embeddings": 10})"},
    {"smollm3", R"({"no_rope_layers": [1, 1]})"},
    {"granite", R"({"embedding_multiplier": 1.0})"},
    {"granite", R"({"attention_multiplier": 0.35})"},
    {"granite", R"({"residual_multiplier": 1.0})"},
    {"granite", R"({"logits_scaling": 1.0})"},
    {"granitemoe", R"({"embedding_multiplier": 1.0})"},
    {"granitemoe", R"({"residual_multiplier": 1.0})"},
    {"granitemoe", R"({"num_experts_per_tok": 1})"},
    {"qwen3_5", R"({"rope_parameters": {"partial_rotary_factor": 1.0}})"},
    {"qwen3_5_moe", R"({"num_experts_per_tok": 1})"},
    {"deepseek_v3", R"({"rope_interleave": false})"},
    {"deepseek_v3", R"({"rope_parameters": {"mscale_all_dim": 0}})"},
    {"deepseek_v3", R"({"rope_parameters": {"rope_type": "default"}})"},
    {"deepseek_v3", R"({"n_group": 1, "topk_group": 1})"},
    {"deepseek_v3", R"({"norm_topk_prob": false})"},
    {"deepseek_v3", R"({"routed_scaling_factor": 1.0})"},
    {"gemma4", R"({"final_logit_softcapping": null})"},
    {"gemma4", R"({"rope_parameters": {"full_attention": {"rope_type": "default"}}})"},
    {"gemma4", R"({"rope_parameters": {"full_attention": {"partial_rotary_factor": 1.0}}})"},
    {"gemma4", R"({"sliding_window": 9})"},
    {"gemma4_moe", R"({"top_k_experts": 1})"},
    {"gemma4_moe", R"({"rope_parameters": {"sliding_attention": {"rope_theta": 100.0}}})"},
    {"mixtral", R"({"num_experts_per_tok": 1})"},
    {"qwen2_moe", R"({"norm_topk_prob": true})"},
    {"qwen3_moe", R"({"norm_topk_prob": false})"},
    {"gpt_oss", R"({"swiglu_limit": 100.0})"},
    {"gpt_oss", R"({"swiglu_alpha": 1.0})"},
    {"gpt_oss", R"({"layer_types": ["full_attention", "full_attention"]})"},
    {"gpt_oss", R"({"rope_parameters": {"truncate": true}})"},
    {"gpt_oss", R"({"rope_parameters": {"rope_type": "default"}})"},
    {"ministral3", R"({"rope_parameters": {"llama_4_scaling_beta": 0}})"},
    {"olmo3", R"({"layer_types": ["full_attention", "full_attention"]})"},
    {"gpt2", R"({"scale_attn_by_inverse_layer_idx": true})"},
    {"gpt2", R"({"activation_function": "relu"})"},
    {"bert", R"({"hidden_act": "relu"})"},
    {"llama", R"({"rope_parameters": {"rope_theta": 1000.0}})"},
};
TEST(LeftOut, IsNoticed) {
  NoGrad guard;
  for (auto& [family, change] : kLeftOut) {
    json c = json::parse(text_of(model_data(family) + "/config.json"));
    c.merge_patch(json::parse(change));
    auto want = expected(family);
    EXPECT_GT(apart((*with_config(family, c))(want["ids"]), want["logits"]), 1e-2) << family << " " << change;
  }
}
// Parts that no configuration turns off, each made nothing by its weights.
TEST(LeftOut, WeightsOfEveryKindAreRead) {
  NoGrad guard;
  for (const std::string& family : stored_models()) {
    auto want = expected(family);
    Model m = models::load(model_data(family), {.dtype = f32});
    for (auto& [name, t] : m->named_parameters()) {
      if (name.ends_with("k_proj.bias") || name.ends_with("key.bias"))
        continue;  // softmax takes most of it away where positions are near
      const Tensor before = t.clone();
      t.detach().fill_(name.ends_with("norm.weight") ? 0.5 : 0.0);
      EXPECT_GT(apart(m(want["ids"]), want["logits"]), 1e-3) << family << " " << name;
      t.detach().copy_(before);
    }
  }
}

// Those that are read: quantized_test.cpp.
TEST(Load, UnknownQuantizationsAreRefusedByName) {
  const auto said = [](const json& quantization, bool in_text = false) {
    json c = json::parse(text_of(model_data("llama") + "/config.json"));
    if (in_text) {
      json text = c;
      text["quantization_config"] = quantization, c["text_config"] = text;
    } else {
      c["quantization_config"] = quantization;
    }
    try {
      with_config("llama", c);
    } catch (const ValueError& e) { return std::string(e.what()); }
    return std::string();
  };
  for (const char* kind : {"quip", "gptq "}) {
    const std::string words = "quantized by \"" + std::string(kind) + "\"";
    EXPECT_NE(said({{"quant_method", kind}}).find(words), std::string::npos) << said({{"quant_method", kind}});
    EXPECT_NE(said({{"quant_method", kind}}, true).find(words), std::string::npos) << said({{"quant_method", kind}}, true);
  }
  EXPECT_NE(said({{"quant_algo", "NVFP4"}}).find("quantized by \"NVFP4\""), std::string::npos);
  EXPECT_NE(said({{"quant_method", "a\x1b[2J"}}).find("a\\"), std::string::npos) << said({{"quant_method", "a\x1b[2J"}});
  const json unnamed[] = {json::object(), 4, "gptq", {{"quant_method", 4}}, {{"quant_method", nullptr}}, json::array({"gptq"})};
  for (const json& q : unnamed) EXPECT_NE(said(q).find("a method without a name"), std::string::npos) << q << said(q);
  EXPECT_EQ(said(nullptr), "");
  EXPECT_EQ(said({{"quant_method", "gptq"}}), "");  // the weights are plain all the same
}

TEST(Rope, EachScalingIsTransformers) {
  NoGrad guard;
  int64_t n = 0;
  for (const char* family : {"llama", "phi3", "qwen2_moe"}) {
    auto want = expected(family);
    const json variants = json::parse(text_of(model_data(family) + "/variants.json"));
    for (auto& [name, config] : variants.items()) {
      const Tensor got = (*with_config(family, config))(want["ids"]);
      EXPECT_LT(apart(got, want["logits." + name]), 1e-4) << family << " " << name;
      EXPECT_GT(apart(got, want["logits"]), 1e-2) << family << " " << name;
      ++n;
    }
  }
  EXPECT_EQ(n, 6);
}

// A text that grows past the length where positions turn otherwise is computed anew: each token is the full forward's choice.
TEST(Rope, GenerationAcrossTheTurningPoint) {
  NoGrad guard;
  Model m = models::load(model_data("phi3"), {.dtype = f32});
  const Tensor ids = narrow(expected("phi3")["ids"], 1, 0, 6);
  const Tensor all = m.generate(ids, {.max_new_tokens = 9, .eos_token_id = std::vector<int64_t>()});
  for (int64_t n = 6; n < 15; ++n)
    EXPECT_EQ(differences(argmax(m(narrow(all, 1, 0, n)).select(1, n - 1), -1), all.select(1, n)), 0) << n;
}

// Keys are kept unturned where the length of the text decides how they are turned: a step is the full forward's last token.
TEST(Rope, CachedStepsOfPositionsThatChangeWithTheLength) {
  NoGrad guard;
  manual_seed(4);
  const json dynamic = json::parse(text_of(model_data("llama") + "/variants.json"))["dynamic"];
  // In one layer's keys alone: what deeper layers saw of earlier tokens was right when it was computed.
  json one = dynamic;
  one["num_hidden_layers"] = 1;
  auto m = with_config("llama", one);
  const Tensor ids = randint(3, 64, {1, 20});
  Cache cache;
  for (int64_t at = 0; at < 20; ++at) {
    const Tensor step = (*m)(narrow(ids, 1, at, 1), cache);
    const Tensor full = narrow((*m)(narrow(ids, 1, 0, at + 1)), 1, at, 1);
    EXPECT_LT(apart(step, full), 1e-5) << at;
  }
}

}  // namespace
}  // namespace dyadic::testing
