// Models from files: what a configuration leaves out, names and forms that weights have there, what is refused; and what caches
// of loaded models hold.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dyadic/dyadic.h"
#include "dyadic/io.h"
#include "dyadic/model_files.h"
#include "dyadic/models.h"
#include "tests/test_data.h"

namespace dyadic::testing {
namespace {

using nlohmann::json;
using namespace models;

// The configuration of google/gemma-3-4b-it says no more of its text part than this.
TEST(Load, WhatGemma3LeavesOutIsUsual) {
  auto m = make(R"({"model_type": "gemma3", "text_config": {"hidden_size": 2560, "intermediate_size": 10240,
      "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
      "sliding_window": 1024}})",
                {bf16, meta});
  auto p = m->named_parameters();
  const auto shape = [&](const char* name) { return p[name].sizes(); };
  EXPECT_EQ(shape("model.embed_tokens.weight"), (IntList{262208, 2560}));
  EXPECT_EQ(shape("model.layers.33.self_attn.q_proj.weight"), (IntList{2048, 2560}));
  EXPECT_EQ(shape("model.layers.33.self_attn.k_proj.weight"), (IntList{1024, 2560}));
  EXPECT_EQ(p.size(), 1u + 34 * 13 + 1);
}

TEST(Load, SaysWhatIsWrong) {
  const auto message = [](auto f) -> std::string {
    try {
      f();
    } catch (const Error& e) { return e.what(); }
    return "";
  };
  EXPECT_EQ(message([] { make("{}"); }), "config.json: model_type is missing");
  EXPECT_EQ(message([] { make("nothing"); }), "config.json: not JSON of the expected form");
  const std::string unknown = message([] { make(R"({"model_type": "rwkv"})"); });
  EXPECT_TRUE(unknown.starts_with("config.json: model_type \"rwkv\" is none of bert, ")) << unknown;
  EXPECT_EQ(message([] { make(R"({"model_type": "llama", "vocab_size": -3})"); }),
            "config.json: vocab_size: expected a number of things, and it is -3");
  EXPECT_EQ(message([] { make(R"({"model_type": "llama", "vocab_size": 8})"); }), "config.json: num_hidden_layers is missing");
  std::ifstream in(model_data("llama") + "/config.json");
  json c = json::parse(in);
  auto file = io::open(model_data("llama") + "/model.safetensors");
  const auto with = [&](const char* change) {
    json d = c;
    d.merge_patch(json::parse(change));
    return message([&] { from_file(d.dump(), *file); });
  };
  EXPECT_TRUE(
      with(R"({"vocab_size": 65})")
          .ends_with(
              "model.safetensors: tensor \"model.embed_tokens.weight\": expected [65, 32] by config.json, and it is [64, 32]"));
  EXPECT_TRUE(with(R"({"num_hidden_layers": 3})")
                  .ends_with("9 of the model's 30 weights are missing: \"model.layers.2.input_layernorm.weight\", ..."));
  EXPECT_EQ(with(R"({"rope_parameters": {"rope_type": "spiral"}})"),
            "config.json: rope_type \"spiral\" is none of default, linear, proportional, dynamic, llama3, yarn, longrope");
  EXPECT_EQ(with(R"({"num_key_value_heads": 3})"),
            "config.json: num_attention_heads 4 is no multiple of num_key_value_heads 3");
  EXPECT_EQ(with(R"({"hidden_act": "mish"})"),
            "config.json: activation \"mish\" is none of silu, swish, gelu, gelu_new, gelu_pytorch_tanh, relu");
}

// A configuration is no reason to build or to allocate what the file of weights does not have.
TEST(Load, RefusesSizesThatTheFileDoesNotHave) {
  const auto with = [](const char* family, const char* change) -> std::string {
    std::ifstream in(model_data(family) + "/config.json");
    json c = json::parse(in);
    c.merge_patch(json::parse(change));
    try {
      from_file(c.dump(), *io::open(model_data(family) + "/model.safetensors"));
    } catch (const Error& e) { return e.what(); }
    return "";
  };
  EXPECT_EQ(with("llama", R"({"num_hidden_layers": 1000000000})"),
            "config.json: 1000000000 layers of 1 attention, and there are 21 tensors of weights");
  EXPECT_EQ(with("gpt2", R"({"n_layer": 1000000000})"),
            "config.json: 1000000000 layers of 1 attention, and there are 28 tensors of weights");
  EXPECT_EQ(with("mixtral", R"({"num_local_experts": 1000000000})"),
            "config.json: 2 layers of 1000000000 experts, and there are 41 tensors of weights");
  EXPECT_EQ(with("qwen2_moe", R"({"num_experts": 1000000000})").substr(0, 43), "config.json: 2 layers of 1000000000 experts");
  for (const char* huge : {R"({"hidden_size": 2147483648, "head_dim": 2147483648, "num_attention_heads": 2147483648})",
                           R"({"vocab_size": 2147483648, "hidden_size": 2147483648})", R"({"intermediate_size": 2147483648})"})
    EXPECT_NE(with("llama", huge), "") << huge;
}

// Beside the model there is one tensor at a time.
TEST(Load, HoldsTheModelAlone) {
  for (DType dtype : {f32, DType(), DType::parse("i8(group=4)")}) {
    reset_peak_memory_stats();
    Model m = models::load(model_data("qwen2_moe"), {.dtype = dtype});
    const int64_t largest = 64 * 32 * 4;  // the embedding
    const MemoryStats after = memory_stats();
    EXPECT_LE(after.total_peak - after.total, largest) << (dtype ? dtype.name() : "as the file has it");
  }
}

TEST(Load, InSeveralFiles) {
  const std::string there = ::testing::TempDir() + "models_shards";
  Model m = models::load(model_data("mixtral"));
  m->save_pretrained(there, 8000);
  EXPECT_TRUE(std::ifstream(there + "/model.safetensors.index.json").good());
  EXPECT_FALSE(std::ifstream(there + "/model.safetensors").good());
  Model again = models::load(there);
  for (auto& [name, t] : m->named_parameters()) EXPECT_TRUE(equal(again->named_parameters()[name], t)) << name;
}

// Files of the text part of a larger model, or of a body alone.
TEST(Load, NamesInOtherClothes) {
  NoGrad guard;
  const Tensor ids = full({1, 5}, 7, i64);
  for (const char* family : {"gemma3", "gpt2", "qwen3_5", "deepseek_v3"}) {
    Model m = models::load(model_data(family), {.dtype = f32});
    const std::string body = std::string_view(family) == "gpt2" ? "transformer." : "model.";
    const std::string saved = ::testing::TempDir() + "models_saved";
    m->save_pretrained(saved);
    const io::SafeTensors file = io::load_safetensors(saved + "/model.safetensors");
    for (const char* prefix : {"", "language_model.model.", "model.language_model."}) {
      if (body == "transformer." && *prefix) continue;
      io::NamedTensors others{{"vision_tower.x", ones({2})}};
      for (auto& [name, t] : file.tensors)
        others.emplace_back(name.starts_with(body) ? prefix + name.substr(body.size()) : name, t);
      const std::string path = ::testing::TempDir() + "models_clothes.safetensors";
      io::save_safetensors(path, others);
      EXPECT_TRUE(equal((*from_file(m->config, *io::open(path)))(ids), m(ids))) << family << " " << prefix;
    }
  }
}

// GPT-2's matrices stand turned in files; in memory they are a Linear's, so that scales belong to what each output reads.
TEST(Load, TurnedMatricesAreALinears) {
  const NoGrad guard;
  const Tensor ids = full({1, 5}, 7, i64);
  const Model plain = models::load(model_data("gpt2"), {.dtype = f32});
  const std::string name = "transformer.h.0.attn.c_attn.weight", saved = ::testing::TempDir() + "models_turned";
  const Tensor w = plain->named_parameters()[name];
  EXPECT_EQ(w.size(0), 3 * w.size(1));
  plain->save_pretrained(saved);
  for (auto& [key, t] : io::load_safetensors(saved + "/model.safetensors").tensors) EXPECT_TRUE(key != name || equal(t, w.t()));
  for (const char* format : {"i4(row)", "q4_0", "i8(row)"}) {
    const Model small = models::load(model_data("gpt2"), {.dtype = DType::parse(format)});
    EXPECT_TRUE(equal(small->named_parameters()[name].to(f32), w.to(DType::parse(format)).to(f32))) << format;
    small->save_pretrained(saved);
    EXPECT_TRUE(equal(models::load(saved)(ids), small(ids))) << format;
    if (std::string_view(format) != "q4_0") continue;
    const std::string gguf = ::testing::TempDir() + "models_turned.gguf";
    models::convert(saved, gguf, {});
    const Model again = models::load(gguf);
    EXPECT_EQ(again->named_parameters()[name].dtype(), q4_0);
    EXPECT_TRUE(equal(again(ids), small(ids)));
  }
}

// The head's file serves the body alone, and names that files of BERT's time have are known.
TEST(Load, AnEncoderWithoutItsHead) {
  NoGrad guard;
  const Tensor ids = full({1, 5}, 7, i64);
  Model m = models::load(model_data("bert"), {.dtype = f32});
  auto config = nlohmann::json::parse(m->config);
  config["architectures"] = {"BertModel"};
  const auto file = io::open(model_data("bert") + "/model.safetensors");
  auto body = from_file(config.dump(), *file, {.dtype = f32});
  EXPECT_TRUE(body->named_parameters().contains("encoder.layer.0.attention.self.query.weight"));
  const Tensor states = (*body)(ids);
  EXPECT_EQ(states.size(2), 32);
  nn::NamedItems<Tensor> p = m->named_parameters();
  Tensor x = gelu(linear(states, p["cls.predictions.transform.dense.weight"], p["cls.predictions.transform.dense.bias"]));
  x = layer_norm(x, {32}, p["cls.predictions.transform.LayerNorm.weight"], p["cls.predictions.transform.LayerNorm.bias"],
                 1e-12);
  x = linear(x, p["bert.embeddings.word_embeddings.weight"], p["cls.predictions.bias"]);
  EXPECT_LT(double(amax(abs(x - m(ids))).item()), 1e-5);
  io::NamedTensors old;
  for (auto& [name, t] : p) {
    std::string then = name;
    if (name.ends_with("LayerNorm.weight")) then = name.substr(0, name.size() - 6) + "gamma";
    if (name.ends_with("LayerNorm.bias")) then = name.substr(0, name.size() - 4) + "beta";
    old.emplace_back(then, t.detach());
  }
  const std::string path = ::testing::TempDir() + "models_old_bert.safetensors";
  io::save_safetensors(path, old);
  EXPECT_TRUE(equal((*from_file(m->config, *io::open(path)))(ids), m(ids)));
  config["architectures"] = {"BertForSequenceClassification"};
  EXPECT_THROW(from_file(config.dump(), *file), ValueError);
}

TEST(Load, ComputesUnderAutocast) {
  const NoGrad guard;
  for (const char* family : {"llama", "gemma3", "qwen3_5", "deepseek_v3", "gpt_oss", "gpt2", "bert"}) {
    Model m = models::load(model_data(family), {.dtype = f32});
    const Tensor ids = arange(1, 9, 1, i64).view({1, 8}), want = m(ids);
    const Autocast low(bf16);
    EXPECT_LT(double((amax(abs(m(ids).to(f32) - want)) / amax(abs(want))).item()), 0.2) << family;
  }
}

// Files of experts come in two forms: a matrix of each, or one tensor of all gates and ups and one of all downs.
TEST(Load, ExpertsThatAreStackedInTheFile) {
  NoGrad guard;
  const Tensor ids = full({1, 5}, 7, i64);
  Model m = models::load(model_data("qwen3_5_moe"), {.dtype = f32});
  const nn::NamedItems<Tensor> all = m->named_parameters();
  io::NamedTensors stacked;
  for (auto& [name, t] : all) {
    const size_t at = name.find(".experts.");
    if (at == name.npos) stacked.emplace_back(name, t.detach());
    if (!name.ends_with(".experts.0.gate_proj.weight")) continue;
    const std::string layer = name.substr(0, at + 9);
    std::vector<Tensor> both, down;
    for (int e = 0; e < 4; ++e) {
      const auto of = [&](const char* matrix) { return all.find(layer + std::to_string(e) + matrix)->detach(); };
      both.push_back(cat(std::vector{of(".gate_proj.weight"), of(".up_proj.weight")}, 0)),
          down.push_back(of(".down_proj.weight"));
    }
    stacked.emplace_back(layer + "gate_up_proj", stack(both, 0)), stacked.emplace_back(layer + "down_proj", stack(down, 0));
  }
  const std::string path = ::testing::TempDir() + "models_stacked.safetensors";
  io::save_safetensors(path, stacked);
  EXPECT_TRUE(equal((*from_file(m->config, *io::open(path)))(ids), m(ids)));
  // Three of four: the fourth is missing in a line that names it.
  for (auto& [name, t] : stacked)
    if (name.ends_with("gate_up_proj")) t = narrow(t, 0, 0, 3).clone();
  io::save_safetensors(path, stacked);
  EXPECT_THROW(from_file(m->config, *io::open(path)), Error);
}

// What is kept of tokens in recurrent layers has one size, and steps over many of its strides are the full forward.
TEST(Load, ARecurrentStateIsTheFullForward) {
  Model m = models::load(model_data("qwen3_5"), {.dtype = f64});
  NoGrad guard;
  manual_seed(5);
  const Tensor ids = randint(3, 64, {2, 150}), whole = m(ids);
  for (int64_t step : {1, 37, 64, 100}) {
    Cache cache(150);
    std::vector<Tensor> parts;
    int64_t bytes = 0;
    for (int64_t at = 0; at < 150; at += step) {
      parts.push_back(m(narrow(ids, 1, at, std::min(step, 150 - at)), cache));
      if (at == 0) bytes = cache.nbytes();
    }
    EXPECT_LT(double(amax(abs(cat(parts, 1) - whole)).item()), 1e-11 * double(amax(abs(whole)).item())) << step;
    EXPECT_EQ(cache.nbytes(), bytes);
    EXPECT_THROW(m(full({3, 1}, 5, i64), cache), ValueError);
  }
}

// Gradients go through the state's steps as well: each parameter's is the difference quotient.
TEST(Load, ARecurrentStateHasGradients) {
  Model m = models::load(model_data("qwen3_5"), {.dtype = f64});
  manual_seed(6);
  const Tensor ids = randint(3, 64, {1, 70});
  m->loss(ids, ids).backward();
  for (auto& [name, t] : m->named_parameters()) {
    if (name.find("layers.0.linear_attn") == name.npos) continue;
    NoGrad guard;
    const Tensor before = t.detach().clone();
    Tensor direction = randn(t.sizes(), f64);
    direction = direction / sqrt(sum(square(direction)));
    double quotient = 0;
    for (double h : {1e-6, -1e-6}) {
      t.detach().copy_(before + direction * h);
      quotient += double(m->loss(ids, ids).item()) / (2 * h);
    }
    t.detach().copy_(before);
    const double expected = double(sum(t.grad() * direction).item());
    EXPECT_NEAR(quotient, expected, 1e-6 * std::max(1.0, std::abs(expected))) << name;
  }
}

TEST(Load, AWindowsCacheStaysSmall) {
  Model m = models::load(model_data("mistral"), {.dtype = f32});  // two layers with a window of 5
  NoGrad guard;
  Cache cache;
  int64_t bytes = 0;
  for (int64_t i = 0; i < 200; ++i) {
    m(full({1, 1}, 5, i64), cache);
    if (i == 50) bytes = cache.nbytes();
  }
  EXPECT_EQ(cache.length(), 200);
  EXPECT_EQ(cache.nbytes(), bytes);
  EXPECT_LE(bytes, 2 * 2 * 32 * 2 * 12 * 4);  // keys and values, 32 places of 2 heads of 12 in each layer
}

}  // namespace
}  // namespace dyadic::testing
