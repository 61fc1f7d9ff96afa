// Language models in GGUF: what is written there is what llama.cpp's own converter writes (data/gguf.json, of
// data/make_gguf.py), what is read computes the same, and the way back gives the same bytes.
#include <fmt/format.h>

#include <map>

#include "dyadic/eval.h"
#include "dyadic/planes.h"
#include "dyadic/text_generation.h"
#include "tests/models/gguf_models.h"

namespace dyadic::testing {
namespace {

using namespace models;

// What GGUF has no keys for, put away, so that a configuration that is made of keys says all.
struct Case {
  const char *family, *change = "{}";  // a JSON merge patch
};
const Case kCases[] = {{"llama"},
                       {"mistral", R"({"sliding_window": null})"},
                       {"ministral3"},
                       {"mixtral"},
                       {"smollm3", R"({"no_rope_layers": [1, 1]})"},
                       {"granite"},
                       {"granitemoe"},
                       {"qwen2", R"({"use_sliding_window": false})"},
                       {"qwen2_moe"},
                       {"qwen3"},
                       {"qwen3_moe"},
                       {"qwen3_5"},
                       {"qwen3_5_moe"},
                       {"gemma"},
                       {"gemma2", R"({"query_pre_attn_scalar": 12})"},
                       {"gemma3", R"({"query_pre_attn_scalar": 12})"},
                       {"gemma4"},
                       {"gemma4_moe"},
                       {"phi3", R"({"sliding_window": null})"},
                       {"gpt_oss", R"({"swiglu_limit": 7.0})"},
                       {"olmo2"},
                       {"olmo3"},
                       {"deepseek_v3"},
                       {"gpt2"},
                       {"bert", R"({"architectures": ["BertModel"]})"}};

class Gguf : public ::testing::TestWithParam<Case> {
 protected:
  Folder folder;
  const std::string family = GetParam().family;
  std::string model = folder / "model", file = folder / "model.gguf";
  void SetUp() override {
    fs::create_directories(model);
    if (family == "bert") {  // without its head, for which GGUF has no place
      io::NamedTensors body;
      for (auto& [name, t] : io::load_safetensors(model_data(family) + "/model.safetensors").tensors)
        if (name.starts_with("bert.")) body.emplace_back(name.substr(5), t);
      io::save(model + "/model.safetensors", body);
    } else {
      fs::copy_file(model_data(family) + "/model.safetensors", model + "/model.safetensors");
    }
    json c = json::parse(text_of_file(model_data(family) + "/config.json"));
    c.merge_patch(json::parse(GetParam().change));
    put_file(model + "/config.json", c.dump(2));
  }
};
INSTANTIATE_TEST_SUITE_P(All, Gguf, ::testing::ValuesIn(kCases), [](auto& info) { return std::string(info.param.family); });

TEST_P(Gguf, ComputesTheSame) {
  NoGrad guard;
  const Tensor ids = ids_of(family), want = models::load(model, {.dtype = f32})(ids);
  for (const io::Converted& t : convert(model, file)) EXPECT_TRUE(t.difference.exact) << t.name;
  EXPECT_LT(apart(models::load(file, {.dtype = f32})(ids), want), 1e-6);
  strip(file, folder / "stripped.gguf");
  Model m = models::load(folder / "stripped.gguf", {.dtype = f32});
  EXPECT_LT(apart(m(ids), want), 2e-5);  // the norms' epsilon and the positions' base are f32 there
  const json own = json::parse(text_of_file(model + "/config.json"));
  EXPECT_EQ(json::parse(m->config)["model_type"], family == "mistral" ? json("llama") : own["model_type"]);
  // As it is stored: matrices in bf16, norms in f32.
  EXPECT_LT(apart(models::load(file)(ids).to(f32), want), 2e-2);
}

TEST_P(Gguf, TheWayBackGivesTheSameBytes) {
  convert(model, file);
  convert(file, folder / "back");
  // All but what our writer says of itself in the header.
  const auto parts = [](const std::string& path) {
    const std::string all = text_of_file(path);
    uint64_t n = 0;
    std::memcpy(&n, all.data(), sizeof n);
    json header = json::parse(all.substr(8, n));
    header.erase("__metadata__");
    return std::pair(header, all.substr(8 + n));
  };
  EXPECT_TRUE(parts(folder / "back/model.safetensors") == parts(model + "/model.safetensors"));
  EXPECT_EQ(text_of_file(folder / "back/config.json"), text_of_file(model + "/config.json"));
}

TEST_P(Gguf, IsWhatLlamaCppsConverterWrites) {
  if (family == "qwen3_moe") GTEST_SKIP() << "one of its layers has no experts, which llama.cpp does not know";
  convert(model, file);
  expect_llama_cpps(file, family);
}

void write_hashed_model(const std::string& folder) {
  fs::create_directories(folder);
  io::NamedTensors all;
  for (auto& [name, t] : make(perplexity_config().dump(), {f32, meta})->named_parameters()) {
    const Tensor w = hashed(name, t.sizes());
    all.emplace_back(name, (t.dim() == 1 ? w * 0.25 + 1.0 : w * 0.125).to(f32));
  }
  io::save(folder + "/model.safetensors", all);
  put_file(folder + "/config.json", perplexity_config().dump(1));
  write_small_tokenizer(folder);
}

// What llama.cpp says of the files we write of one model: its perplexity, of its own ids.
TEST(GgufPerplexity, IsLlamaCpps) {
  const json want = json::parse(text_of_file(model_data("gguf.json")))["perplexity"];
  Folder folder;
  write_hashed_model(folder / "model");
  const std::string text = text_of_file(model_data("gguf.txt"));
  for (auto& [format, stored] : want["perplexities"].items()) {
    const std::string file = folder / (format + ".gguf");
    convert(folder / "model", file, {.format = DType::parse(format)});
    const Model m = models::load(file);
    EXPECT_EQ(m->named_parameters()["model.layers.0.mlp.up_proj.weight"].dtype(), DType::parse(format));
    const Tokenizer t = Tokenizer::load(file);
    EXPECT_EQ(json(t.encode(text, false)), want["ids"]);
    const Perplexity p = perplexity(*m, t, text, {.window = want["window"].get<int64_t>()});
    EXPECT_EQ(p.tokens, want["tokens"]);
    const double share = format == "f32" || format == "f16" ? 2e-4 : 2e-3;  // llama.cpp rounds what other weights multiply
    EXPECT_NEAR(p.perplexity / stored.get<double>(), 1, share) << format;
  }
}

TEST(GgufModel, HasItsTokenizerAndItsFiles) {
  Folder folder;
  const std::string file = folder / "small.gguf";
  convert(small_model(), file);
  const Tokenizer own = Tokenizer::load(small_model()), there = Tokenizer::load(file);
  strip(file, folder / "stripped.gguf");
  const Tokenizer made = Tokenizer::load(folder / "stripped.gguf");
  const std::string chat = R"([{"role":"user","content":"Hi, 123 of\n\n  \t\u00fc\ud83d\ude00"}])";
  for (const Tokenizer& t : {there, made}) {
    EXPECT_EQ(t.encode("Once upon a 1234 time <|end|> x"), own.encode("Once upon a 1234 time <|end|> x"));
    EXPECT_EQ(t.encode_chat(chat, {.add_generation_prompt = true}), own.encode_chat(chat, {.add_generation_prompt = true}));
    EXPECT_EQ(t.bos_id(), own.bos_id());
    EXPECT_EQ(t.eos_id(), own.eos_id());
  }
  EXPECT_EQ(config_json(file), text_of_file(small_model() + "/config.json"));
  convert(file, folder / "back");
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json"})
    EXPECT_TRUE(text_of_file(folder / ("back/" + std::string(name))) == text_of_file(small_model() + "/" + name)) << name;
  // A folder with nothing but the file is the model in it; generation is the same.
  fs::create_directories(folder / "one");
  fs::rename(file, folder / "one/small.gguf");
  const Model m = models::load(folder / "one"), want = models::load(small_model());
  const TextOptions o{.generate = {.max_new_tokens = 8}};
  EXPECT_EQ(generate_text(*m, Tokenizer::load(folder / "one"), "Once", o).text, generate_text(*want, own, "Once", o).text);
}

TEST(GgufModel, ScaledRowsAreMovedNotDecoded) {
  Folder folder;
  write_small_model(folder / "model", perplexity_config());
  NoGrad guard;
  const Tensor ids = arange(0, 40, i64).reshape({1, 40});
  for (const char* format : {"q4_0", "q8_0", "q4_K", "mxfp4"}) {
    const std::string file = folder / (std::string(format) + ".gguf");
    convert(folder / "model", file, {.format = DType::parse(format)});
    const Model m = models::load(file), decoded = models::load(file, {.dtype = f32});
    auto parameters = m->named_parameters();
    for (auto& [name, t] : decoded->named_parameters()) {
      const bool matrix = t.dim() == 2;
      ASSERT_EQ(parameters[name].dtype(), matrix ? DType::parse(format) : f32) << name;
      EXPECT_TRUE(equal(parameters[name].to(f32), t)) << name;
    }
    EXPECT_LT(apart(m(ids), decoded(ids)), 1e-4) << format;
    // And back into a folder, as it is.
    convert(file, folder / (std::string(format) + ".back"));
    const Model back = models::load(folder / (std::string(format) + ".back"));
    for (auto& [name, t] : back->named_parameters()) EXPECT_TRUE(equal(t.to(f32), parameters[name].to(f32))) << name;
  }
}

// Where columns are moved, or one tensor becomes two whose blocks lie in different directions.
TEST(GgufModel, WhatBlocksCannotFollowIsDecoded) {
  Folder folder;
  NoGrad guard;
  for (const char* family : {"qwen3_5", "qwen3_5_moe", "deepseek_v3", "granitemoe", "gemma4_moe", "mixtral"}) {
    const std::string file = folder / (std::string(family) + ".gguf"), back = folder / family;
    convert(model_data(family), file, {.format = q8_0});
    const Tensor ids = ids_of(family), want = models::load(file, {.dtype = f32})(ids);
    EXPECT_LT(apart(models::load(file)(ids).to(f32), want), 1e-3) << family;
    const Model read = models::load(file, {.dtype = f32}), own = models::load(model_data(family), {.dtype = f32});
    auto weights = read->named_parameters();
    for (auto& [name, t] : own->named_parameters()) EXPECT_LT(apart(weights[name], t), 0.005) << family << " " << name;
    convert(file, back);
    EXPECT_LT(apart(models::load(back, {.dtype = f32})(ids), want), 1e-6) << family;
  }
}

TEST(GgufModel, StackedExpertsComeBackStacked) {
  Folder folder;
  write_changed("qwen3_5_moe", folder / "model", [](io::NamedTensors& all) {
    std::map<std::string, std::array<std::vector<Tensor>, 3>> experts;
    std::erase_if(all, [&](auto& item) {
      const size_t at = item.first.find(".experts.");
      if (at == item.first.npos) return false;
      const char kind = item.first[item.first.rfind("_proj") - 1];  // dow_n_, gat_e_, u_p_
      experts[item.first.substr(0, at)][kind == 'n' ? 0 : kind == 'e' ? 1 : 2].push_back(item.second);
      return true;
    });
    for (auto& [name, e] : experts) {
      all.emplace_back(name + ".experts.down_proj", stack(e[0], 0));
      all.emplace_back(name + ".experts.gate_up_proj", cat(std::vector{stack(e[1], 0), stack(e[2], 0)}, 1));
    }
    std::ranges::sort(all, {}, [](auto& item) { return item.first; });
  });
  convert(folder / "model", folder / "model.gguf"), convert(folder / "model.gguf", folder / "back");
  expect_same_weights(folder / "model", folder / "back");
  convert(model_data("qwen3_5_moe"), folder / "single.gguf");
  const auto a = io::open(folder / "model.gguf"), b = io::open(folder / "single.gguf");
  ASSERT_EQ(a->tensors().size(), b->tensors().size());
  for (const io::TensorInfo& t : a->tensors()) EXPECT_TRUE(equal(a->get(t.name), b->get(t.name))) << t.name;
  const Tensor ids = ids_of("qwen3_5_moe");
  NoGrad guard;
  EXPECT_TRUE(equal(models::load(folder / "model.gguf")(ids), models::load(folder / "single.gguf")(ids)));
}

// 1 + w and -exp(w) do not give w again to the last bit; what llama.cpp's converter would write is there all the same.
TEST(GgufModel, ComputedValuesComeBackExactly) {
  Folder folder;
  for (const char* family : {"gemma3", "qwen3_5"}) {
    const std::string model = folder / (std::string(family) + ".model"), file = folder / (std::string(family) + ".gguf");
    int64_t changed = 0;
    write_changed(family, model, [&](io::NamedTensors& all) {
      for (auto& [name, t] : all)
        if (name.ends_with("norm.weight") || name.ends_with("A_log")) t = (hashed(name, t.sizes()) * 1e-3).to(f32), ++changed;
    });
    EXPECT_GT(changed, 4);
    convert(model, file), convert(file, model + ".back");
    expect_same_weights(model, model + ".back");
    // Another tool's change counts more than what the file carries.
    const auto whole = io::GgufFile::open(file);
    io::save_gguf(
        folder / "changed.gguf", whole->tensors(),
        [&](size_t i) {
          const Tensor t = whole->get(i);
          return whole->tensors()[i].name == "output_norm.weight" ? t + 1 : t;
        },
        whole->values());
    const Model own = models::load(file), other = models::load(folder / "changed.gguf");
    auto theirs = other->named_parameters();
    for (auto& [name, t] : own->named_parameters()) EXPECT_EQ(equal(t, theirs[name]), name != "model.norm.weight") << name;
  }
}

// GGUF has all of one dimension in f32; which of a model's 16-bit weights were so is kept.
TEST(GgufModel, WideTensorsOfA16BitModelStayWide) {
  Folder folder;
  write_changed("qwen3_5", folder / "model", [](io::NamedTensors& all) {
    for (auto& [name, t] : all) t = t.to(name.ends_with("A_log") || name.ends_with("model.norm.weight") ? f32 : bf16);
  });
  json c = json::parse(text_of_file(folder / "model/config.json"));
  c["dtype"] = "bfloat16";
  put_file(folder / "model/config.json", c.dump(2));
  convert(folder / "model", folder / "model.gguf"), convert(folder / "model.gguf", folder / "back");
  expect_same_weights(folder / "model", folder / "back");
}

// Names that a rule goes by are the file's that is written, or the model's own.
TEST(GgufModel, RulesGoByEitherName) {
  Folder folder;
  const auto dtypes = [&](const std::string& rule) {
    convert(model_data("llama"), folder / "a.gguf", {.map = {{rule, "q8_0"}}});
    std::vector<std::string> all;
    const auto file = io::open(folder / "a.gguf");
    for (const io::TensorInfo& t : file->tensors())
      if (t.dtype == q8_0) all.push_back(t.name);
    return all;
  };
  const auto all = dtypes("*.attn_q.weight");
  EXPECT_EQ(all.size(), 2u);
  EXPECT_EQ(dtypes("*.self_attn.q_proj.weight"), all);
  EXPECT_THROW(dtypes("*.self_attn.q_proj.wait"), ValueError);
}

TEST(GgufModel, LayersThatGuessAheadAreLeftBehind) {
  Folder folder;
  write_changed("deepseek_v3", folder / "model", [](io::NamedTensors& all) {
    for (const char* name : {"input_layernorm.weight", "mlp.experts.5.up_proj.weight"})
      all.emplace_back(std::string("model.layers.3.") + name, all.back().second.clone());
    all.emplace_back("model.layers.3.eh_proj.weight", all.back().second.clone());
  });
  convert(folder / "model", folder / "model.gguf"), convert(model_data("deepseek_v3"), folder / "own.gguf");
  EXPECT_EQ(io::open(folder / "model.gguf")->tensors().size(), io::open(folder / "own.gguf")->tensors().size());
}

TEST(GgufModel, AHeadOfBertsIsLeftBehind) {
  Folder folder;
  NoGrad guard;
  convert(model_data("bert"), folder / "bert.gguf"), convert(folder / "bert.gguf", folder / "back");
  const Tensor ids = ids_of("bert"), y = models::load(folder / "bert.gguf", {.dtype = f32})(ids);
  EXPECT_EQ(y.size(2), 32);
  EXPECT_TRUE(equal(models::load(folder / "back", {.dtype = f32})(ids), y));
}

TEST(GgufModel, SaysWhatIsWrong) {
  Folder folder;
  const std::string file = folder / "a.gguf";
  convert(model_data("llama"), file);
  const auto whole = io::GgufFile::open(file);
  const auto said = [&](const std::function<void(io::GgufMetadata&, std::vector<io::TensorInfo>&)>& change) {
    io::GgufMetadata keys;
    for (auto& [key, value] : whole->values())
      if (!key.starts_with("dyadic.")) keys.emplace_back(key, value);
    std::vector<io::TensorInfo> tensors = whole->tensors();
    std::vector<size_t> numbers(tensors.size());
    change(keys, tensors);
    io::save_gguf(folder / "b.gguf", tensors, [&](size_t i) { return whole->get(tensors[i].name); }, keys);
    try {
      models::load(folder / "b.gguf");
    } catch (const Error& e) { return std::string(e.what()); }
    return std::string("no error");
  };
  const auto set = [](io::GgufMetadata& keys, const std::string& key, io::GgufValue value) {
    for (auto& [name, v] : keys)
      if (name == key) v = value;
  };
  EXPECT_EQ(said([](auto&, auto&) {}), "no error");
  try {
    Tokenizer::load(file);  // of a folder that has none
    FAIL();
  } catch (const ValueError& e) { EXPECT_EQ(e.what(), file + ": it has no tokenizer"); }
  EXPECT_NE(
      said([&](auto& keys, auto&) { set(keys, "general.architecture", std::string("mamba\x1b")); }).find("is none of llama"),
      std::string::npos);
  EXPECT_NE(
      said([&](auto& keys, auto&) { set(keys, "llama.block_count", uint32_t(4000000000)); }).find("layers, and there are"),
      std::string::npos);
  EXPECT_NE(said([&](auto& keys, auto&) { set(keys, "llama.block_count", std::string("2")); }).find("not an integer"),
            std::string::npos);
  EXPECT_NE(said([&](auto& keys, auto&) { set(keys, "llama.attention.head_count", uint32_t(5)); }), "no error");
  EXPECT_NE(said([&](auto& keys, auto&) { set(keys, "llama.attention.head_count", uint32_t(0)); }), "no error");
  EXPECT_NE(said([&](auto& keys, auto&) { set(keys, "llama.attention.key_length", uint32_t(0)); }), "no error");
  EXPECT_NE(said([&](auto&, auto& tensors) { tensors.pop_back(); }), "no error");
  EXPECT_NE(said([&](auto&, auto& tensors) {
              std::erase_if(tensors, [](auto& t) { return t.name == "blk.1.attn_q.weight"; });
            }).find("model.layers.1.self_attn.q_proj.weight"),
            std::string::npos);
  EXPECT_THROW(convert(folder / "b.gguf", folder / "b.gguf.gguf", {.format = DType::parse("nf4")}), ValueError);
}

}  // namespace
}  // namespace dyadic::testing
