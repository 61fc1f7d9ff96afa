// LoRA adapters against what PEFT computes with the same files (data/make_adapters.py): attached, merged, saved, trained.
#include "dyadic/adapters.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "dyadic/dyadic.h"
#include "dyadic/io.h"
#include "tests/models/apart.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {
namespace {

using nlohmann::json;
using namespace models;

struct Stored {
  const char *name, *merged;  // a weight that has a part of the adapter
};
const Stored kStored[] = {
    {"plain", "model.layers.1.self_attn.v_proj.weight"}, {"patterns", "model.layers.0.self_attn.q_proj.weight"},
    {"embedding", "model.embed_tokens.weight"},          {"turned", "transformer.h.1.mlp.c_fc.weight"},
    {"dora", "model.layers.0.mlp.up_proj.weight"},       {"latent", "model.layers.2.self_attn.kv_b_proj.weight"}};

std::string folder(const std::string& name) { return model_data("adapters/" + name); }
std::map<std::string, Tensor> tensors_of(const std::string& path) {
  std::map<std::string, Tensor> all;
  for (auto& [name, t] : io::load_safetensors(path).tensors) all[name] = t;
  return all;
}
std::string base_of(const std::string& name) {
  return model_data(
      json::parse(text_of_file(folder(name) + "/adapter_config.json"))["base_model_name_or_path"].get<std::string>());
}
Tensor ids_for_adapter(const std::string& name) { return tensors_of(base_of(name) + "/expected.safetensors")["ids"]; }
std::string adapter_folder(const std::string& name) {
  const std::string path = ::testing::TempDir() + "adapters_" + name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

class Adapters : public ::testing::TestWithParam<Stored> {};
INSTANTIATE_TEST_SUITE_P(All, Adapters, ::testing::ValuesIn(kStored), [](auto& info) { return std::string(info.param.name); });

TEST_P(Adapters, LogitsArePefts) {
  const auto& [name, merged] = GetParam();
  NoGrad guard;
  auto want = tensors_of(folder(name) + "/expected.safetensors");
  const Tensor ids = ids_for_adapter(name);
  Model m = models::load(base_of(name), {.dtype = f32});
  const Tensor before = m(ids);
  const auto weights = m->state_dict();
  load_adapter(*m, folder(name));
  EXPECT_LT(apart(m(ids), want["logits"]), 1e-4);
  EXPECT_GT(apart(before, want["logits"]), 1e-1);
  m->adapter->unload();
  EXPECT_TRUE(equal(m(ids), before));
  ASSERT_EQ(m->state_dict().size(), weights.size());
  for (size_t i = 0; i < weights.size(); ++i) EXPECT_EQ(m->state_dict()[i].first, weights[i].first);
}

TEST_P(Adapters, MergedWeightsArePefts) {
  const auto& [name, merged] = GetParam();
  NoGrad guard;
  auto want = tensors_of(folder(name) + "/expected.safetensors");
  Model m = models::load(base_of(name), {.dtype = f32});
  load_adapter(*m, folder(name));
  m->adapter->merge();
  EXPECT_EQ(m->adapter, nullptr);
  const Tensor w = m->named_parameters()[merged];
  EXPECT_LT(apart(std::string_view(name) == "turned" ? w.t() : w, want["merged"]), 1e-6);
  EXPECT_LT(apart(m(ids_for_adapter(name)), want["logits"]), 1e-4);
  for (auto& [key, t] : m->named_parameters()) EXPECT_TRUE(key.find("lora_") == key.npos && t.requires_grad()) << key;
}

TEST_P(Adapters, SavedAgainTheFilesAreTheSame) {
  const auto& [name, merged] = GetParam();
  Model m = models::load(base_of(name), {.dtype = f32});
  load_adapter(*m, folder(name));
  const std::string there = adapter_folder(name);
  m->save_pretrained(there);
  EXPECT_FALSE(std::filesystem::exists(there + "/model.safetensors"));
  EXPECT_EQ(text_of_file(there + "/adapter_config.json"), text_of_file(folder(name) + "/adapter_config.json"));
  auto want = tensors_of(folder(name) + "/adapter_model.safetensors"), got = tensors_of(there + "/adapter_model.safetensors");
  EXPECT_EQ(got.size(), want.size());
  for (auto& [key, t] : want) {
    std::string plain = key;
    if (const size_t at = plain.find(".base_layer"); at != plain.npos) plain.erase(at, 11);
    ASSERT_TRUE(got.contains(plain)) << key;
    EXPECT_TRUE(equal(got[plain], t)) << key;
  }
  Model again = models::load(base_of(name), {.dtype = f32});
  load_adapter(*again, there);
  NoGrad guard;
  EXPECT_TRUE(equal(again(ids_for_adapter(name)), m(ids_for_adapter(name))));
}

TEST_P(Adapters, CachedStepsHaveTheAdapterToo) {
  const auto& [name, merged] = GetParam();
  NoGrad guard;
  Model m = models::load(base_of(name), {.dtype = f64});
  load_adapter(*m, folder(name));
  const Tensor ids = ids_for_adapter(name), full = m(ids);
  Cache cache;
  std::vector<Tensor> parts;
  for (int64_t at = 0; at < ids.size(1); ++at) parts.push_back(m(narrow(ids, 1, at, 1), cache));
  EXPECT_LT(apart(cat(parts, 1), full), 1e-12);
}

TEST(Adapters, OffTheModelIsItself) {
  NoGrad guard;
  Model m = models::load(base_of("plain"), {.dtype = f32});
  const Tensor ids = ids_for_adapter("plain"), before = m(ids);
  load_adapter(*m, folder("plain"));
  const Tensor with = m(ids);
  m->adapter->set_enabled(false);
  EXPECT_TRUE(equal(m(ids), before));
  m->adapter->set_enabled(true);
  EXPECT_TRUE(equal(m(ids), with));
  EXPECT_THROW(load_adapter(*m, folder("plain")), ValueError);  // one at a time
}

// On weights of 4 bits, as QLoRA trains them: what is stored stays as it is, what is added is float32.
TEST(Adapters, OnQuantizedWeights) {
  const DType nf4 = DType::parse("nf4(block=4)");
  Model m = models::load(base_of("plain"), {.dtype = nf4}), plain = models::load(base_of("plain"), {.dtype = f32});
  const Tensor ids = ids_for_adapter("plain");
  {
    NoGrad guard;
    nn::NamedItems<Tensor> to = plain->named_parameters();
    for (auto& [name, t] : m->named_parameters()) to[name].detach().copy_(t.detach().to(f32));
    load_adapter(*m, folder("plain"));
    load_adapter(*plain, folder("plain"));
    EXPECT_LT(apart(m(ids), plain(ids)), 1e-5);
    m->adapter->merge();
    plain->adapter->merge();
    for (auto& [name, t] : m->named_parameters()) {
      const Tensor dense = plain->named_parameters()[name];
      EXPECT_TRUE(equal(t.to(f32), t.dtype().is_scaled() ? dense.to(nf4).to(f32) : dense)) << name;
    }
  }
  add_adapter(*m, {.r = 4, .lora_alpha = 8});
  const Tensor stored = m->named_parameters()["model.layers.0.mlp.up_proj.weight"].clone();
  nn::NamedTensors trained;
  for (auto& [name, t] : m->named_parameters())
    if (t.requires_grad()) trained.emplace_back(name, t);
  optim::AdamW optimizer(trained, {.lr = 1e-2});
  double first = 0, last = 0;
  for (int step = 0; step < 20; ++step) {
    optimizer.zero_grad();
    const Tensor loss = m->loss(ids, ids);
    last = double(loss.item());
    if (step == 0) first = last;
    loss.backward();
    optimizer.step();
  }
  EXPECT_LT(last, 0.7 * first);
  EXPECT_TRUE(equal(m->named_parameters()["model.layers.0.mlp.up_proj.weight"].to(f32), stored.to(f32)));
}

TEST(Adapters, ANewOneChangesNothingAndTrainsAlone) {
  for (bool dora : {false, true}) {
    Model m = models::load(base_of("turned"), {.dtype = f32});
    const Tensor ids = ids_for_adapter("turned");
    const Tensor before = m(ids).detach();
    add_adapter(*m, {.r = 2, .lora_alpha = 4, .target_modules = {"c_attn"}, .use_dora = dora});
    EXPECT_LT(apart(m(ids).detach(), before), 1e-6);
    m->loss(ids, ids).backward();
    for (auto& [name, t] : m->named_parameters()) EXPECT_EQ(t.grad().defined(), name.find(".lora_") != name.npos) << name;
    const std::string there = adapter_folder("new");
    m->adapter->save(there);
    const json c = json::parse(text_of_file(there + "/adapter_config.json"));
    EXPECT_EQ(c["target_modules"], json::array({"c_attn"}));
    EXPECT_EQ(c["fan_in_fan_out"], true);
    Model again = models::load(base_of("turned"), {.dtype = f32});
    load_adapter(*again, there, {.is_trainable = true});
    EXPECT_TRUE(equal(again(ids).detach(), m(ids).detach()));
    again->loss(ids, ids).backward();
    again->adapter->unload();
    for (auto& [name, t] : again->named_parameters()) EXPECT_TRUE(t.requires_grad()) << name;
  }
  Model m = models::load(base_of("plain"));
  EXPECT_THROW(add_adapter(*m, {.target_modules = {"c_attn"}}), ValueError);
  EXPECT_THROW(add_adapter(*m, {.r = 0}), ValueError);
  EXPECT_THROW(add_adapter(*m, {.target_modules = {"input_layernorm"}}), ValueError);
  EXPECT_THROW(add_adapter(*m, {.lora_dropout = 1}), ValueError);
  EXPECT_EQ(m->adapter, nullptr);
  for (auto& [name, t] : m->named_parameters()) EXPECT_EQ(name.find("lora_"), name.npos) << name;
}

TEST(Adapters, AnEmbeddingThatIsTheHeadIsNotMerged) {
  Model m = models::load(model_data("qwen2"), {.dtype = f32});
  add_adapter(*m, {.r = 2, .target_modules = {"embed_tokens", "q_proj"}});
  EXPECT_THROW(m->adapter->merge(), ValueError);
  ASSERT_NE(m->adapter, nullptr);
  m->adapter->unload();
}

// What is not known, has no place or another shape is named, and the model is as it was.
TEST(Adapters, WhatDoesNotFitIsNamed) {
  Model m = models::load(base_of("plain"), {.dtype = f32});
  const std::string there = adapter_folder("refused");
  const json config = json::parse(text_of_file(folder("plain") + "/adapter_config.json"));
  const auto tensors = io::load_safetensors(folder("plain") + "/adapter_model.safetensors").tensors;
  const auto said = [&](const json& c, const io::NamedTensors& all) {
    put_file(there + "/adapter_config.json", c.dump());
    io::save_safetensors(there + "/adapter_model.safetensors", all);
    try {
      load_adapter(*m, there);
    } catch (const ValueError& e) {
      EXPECT_EQ(m->adapter, nullptr);
      EXPECT_EQ(m->named_parameters().size(), 21u);
      for (auto& [name, t] : m->named_parameters()) EXPECT_TRUE(t.requires_grad());
      return std::string(e.what());
    }
    m->adapter->unload();
    return std::string();
  };
  const auto with = [&](const char* patch) {
    json c = config;
    c.merge_patch(json::parse(patch));
    return c;
  };
  EXPECT_EQ(said(config, tensors), "");
  const std::pair<json, const char*> configs[] = {
      {with(R"({"peft_type": "IA3"})"), "peft_type is \"IA3\""},
      {with(R"({"layer_replication": [[0, 2]]})"), "layer_replication is not known here"},
      {with(R"({"lora_alpha": "many"})"), "lora_alpha"},
      {with(R"({"alpha_pattern": {"q_proj": "x"}})"), "alpha_pattern"},
      {json::array(), "not a JSON object"},
  };
  for (auto& [c, words] : configs) EXPECT_NE(said(c, tensors).find(words), std::string::npos) << c << said(c, tensors);
  const auto altered = [&](size_t i, const std::string& name, const Tensor& t) {
    io::NamedTensors all = tensors;
    all[i] = {name.empty() ? all[i].first : name, t};
    return said(config, all);
  };
  const std::string first = tensors[0].first;
  EXPECT_NE(altered(0, "", ones({4, 5})).find("expected [4, 32], and it is [4, 5]"), std::string::npos);
  EXPECT_NE(altered(0, "", ones({4})).find("is missing beside it"), std::string::npos);
  const auto more = [&](const std::string& name) {
    io::NamedTensors all = tensors;
    all.emplace_back(name, tensors[0].second);
    return said(config, all);
  };
  EXPECT_NE(more("base_model.model.model.layers.7.mlp.down_proj.lora_A.weight").find("has no place"), std::string::npos);
  EXPECT_NE(more("base_model.model.model.norm.lora_A.weight").find("for linear layers"), std::string::npos);
  EXPECT_NE(altered(0, "score.weight", tensors[0].second).find("has no place"), std::string::npos);
  EXPECT_NE(altered(0, first + ".more", tensors[0].second).find("missing beside it"), std::string::npos);
  put_file(there + "/adapter_config.json", std::string(500, '['));
  EXPECT_THROW(load_adapter(*m, there), ValueError);
  EXPECT_THROW(load_adapter(*m, there + "/nothing"), Error);
}

}  // namespace
}  // namespace dyadic::testing
