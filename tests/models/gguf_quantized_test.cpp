// Checkpoints that other tools have quantized, in GGUF and back: what formats allow is exact.
#include "dyadic/planes.h"
#include "tests/models/gguf_models.h"

namespace dyadic::testing {
namespace {

using namespace models;

std::string packed_folder(const std::string& name) { return model_data("quantized/" + name); }

// data/make_gguf.py's nvfp4_model.
void write_nvfp4_model(const std::string& folder) {
  fs::create_directories(folder);
  const json group = {
      {"targets", {"Linear"}},
      {"weights", {{"num_bits", 4}, {"type", "float"}, {"group_size", 16}, {"strategy", "tensor_group"}, {"symmetric", true}}}};
  const json config = {
      {"architectures", {"Qwen3MoeForCausalLM"}},
      {"model_type", "qwen3_moe"},
      {"vocab_size", 64},
      {"hidden_size", 64},
      {"head_dim", 16},
      {"num_hidden_layers", 1},
      {"num_attention_heads", 4},
      {"num_key_value_heads", 2},
      {"intermediate_size", 64},
      {"moe_intermediate_size", 64},
      {"num_experts", 2},
      {"num_experts_per_tok", 1},
      {"norm_topk_prob", true},
      {"max_position_embeddings", 64},
      {"rms_norm_eps", 1e-6},
      {"rope_theta", 1e4},
      {"tie_word_embeddings", false},
      {"dtype", "bfloat16"},
      {"quantization_config",
       {{"quant_method", "compressed-tensors"}, {"format", "nvfp4-pack-quantized"}, {"config_groups", {{"group_0", group}}}}}};
  io::NamedTensors all;
  for (auto& [name, t] : make(config.dump(), {f32, meta})->named_parameters()) {
    const bool packed = name.ends_with("_proj.weight");
    if (!packed) {
      all.emplace_back(name, (floor(hashed(name, t.sizes()) * 128) / 128).to(bf16));
      continue;
    }
    const std::string stem = name.substr(0, name.size() - 7);
    const int64_t rows = t.size(0), cols = t.size(1);
    all.emplace_back(name + "_packed", ((hashed(stem + ".codes", {rows, cols / 2}) + 1) * 128).to(u8));
    all.emplace_back(name + "_scale", view_as(((hashed(stem + ".scales", {rows, cols / 16}) + 1) * 60 + 1).to(u8), f8e4m3fn));
    all.emplace_back(name + "_global_scale", (hashed(stem, {1}) + 2).to(f32));
  }
  std::ranges::sort(all, {}, [](auto& item) { return item.first; });
  io::save(folder + "/model.safetensors", all);
  put_file(folder + "/config.json", config.dump(2));
}

// All tensors of two files, as they lie there.
void expect_same_files(const std::string& a, const std::string& b) {
  auto want = io::load_safetensors(a).tensors, got = io::load_safetensors(b).tensors;
  ASSERT_EQ(got.size(), want.size());
  const auto name = [](auto& item) { return item.first; };
  std::ranges::sort(want, {}, name), std::ranges::sort(got, {}, name);
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].first, want[i].first);
    ASSERT_EQ(got[i].second.dtype(), want[i].second.dtype()) << got[i].first;
    EXPECT_TRUE(equal(view_as(got[i].second, u8), view_as(want[i].second, u8))) << got[i].first;
  }
}

TEST(GgufQuantized, Nvfp4HasItsScalesBesideIt) {
  Folder folder;
  NoGrad guard;
  const std::string model = folder / "model", file = folder / "model.gguf";
  write_nvfp4_model(model);
  for (const io::Converted& c : convert(model, file)) EXPECT_TRUE(c.difference.exact) << c.name;
  expect_llama_cpps(file, "nvfp4");
  const Tensor ids = arange(0, 20, i64).reshape({1, 20});
  EXPECT_TRUE(equal(models::load(file, {.dtype = f32})(ids), models::load(model, {.dtype = f32})(ids)));
  const Model m = models::load(file);
  EXPECT_EQ(m->named_parameters()["model.layers.0.mlp.experts.1.up_proj.weight"].dtype(), nvfp4);
  // 1 / (1 / x) may be the float beside x; all else is as it was.
  convert(file, folder / "back");
  EXPECT_EQ(text_of_file(folder / "back/config.json"), text_of_file(model + "/config.json"));
  const auto want = io::open(model), got = io::open(folder / "back");
  for (const io::TensorInfo& t : want->tensors())
    EXPECT_TRUE(equal(got->get(t.name).to(f32), want->get(t.name).to(f32))) << t.name;
  // What is not of whole blocks is decoded, and weights of other formats are multiplied.
  for (const io::Converted& c : convert(packed_folder("ct_nvfp4"), folder / "odd.gguf")) {
    EXPECT_TRUE(c.difference.exact) << c.name;
    const bool packed = c.name.starts_with("blk.0.attn_") && c.name.ends_with(".weight") && c.name != "blk.0.attn_norm.weight";
    EXPECT_EQ(c.to, packed || c.name == "blk.0.ffn_gate.weight" || c.name == "blk.0.ffn_up.weight" ? nvfp4 : f32) << c.name;
  }
  EXPECT_TRUE(equal(models::load(folder / "odd.gguf", {.dtype = f32})(ids),
                    models::load(packed_folder("ct_nvfp4"), {.dtype = f32})(ids)));
  convert(file, folder / "float.gguf", {.format = f32});
  EXPECT_LT(apart(models::load(folder / "float.gguf")(ids), models::load(file, {.dtype = f32})(ids)), 1e-6);
}

TEST(GgufQuantized, Mxfp4OfGptOssIsGgmls) {
  Folder folder;
  NoGrad guard;
  const std::string model = folder / "model", file = folder / "model.gguf";
  fs::create_directories(model);
  fs::copy_file(packed_folder("mxfp4") + "/model.safetensors", model + "/model.safetensors");
  json c = json::parse(text_of_file(packed_folder("mxfp4") + "/config.json"));
  c["swiglu_limit"] = 7.0;
  put_file(model + "/config.json", c.dump(2));
  convert(model, file, {.map = {{"*attn_?.weight", "bf16"}, {"*attn_output.weight", "bf16"}, {"token_embd.weight", "bf16"}}});
  expect_llama_cpps(file, "mxfp4");
  for (const io::Converted& t : convert(model, file)) EXPECT_TRUE(t.difference.exact) << t.name;
  convert(file, folder / "back");
  expect_same_files(model + "/model.safetensors", folder / "back/model.safetensors");
  EXPECT_EQ(text_of_file(folder / "back/config.json"), text_of_file(model + "/config.json"));
  const Tensor ids = arange(0, 20, i64).reshape({1, 20});
  EXPECT_TRUE(equal(models::load(folder / "back")(ids), models::load(model)(ids)));
  EXPECT_TRUE(equal(models::load(file, {.dtype = f32})(ids), models::load(model, {.dtype = f32})(ids)));
  // In another format nothing is packed, and config.json says so.
  convert(file, folder / "plain", {.format = f32});
  EXPECT_FALSE(json::parse(text_of_file(folder / "plain/config.json")).contains("quantization_config"));
  EXPECT_TRUE(equal(models::load(folder / "plain")(ids), models::load(model, {.dtype = f32})(ids)));
}

// Without being asked: what ggml has no type for becomes the nearest that it has, exactly where the layouts allow it.
TEST(GgufQuantized, OtherPackingsBecomeWhatGgmlHas) {
  Folder folder;
  NoGrad guard;
  const Tensor ids = arange(0, 20, i64).reshape({1, 20});
  const struct {
    const char *name, *dtype;
    double logits;  // how far they move
    bool exact;
  } cases[] = {{"gptq_sym4", "q4_0", 1e-6, true},
               {"gptq_sym8", "q8_0", 1e-6, true},
               {"awq", "q4_1", 5e-3, false},
               {"bnb_nf4", "iq4_nl", 0.5, false},
               {"fp8", "q8_0", 0.5, false},
               {"bnb_int8", "q8_0", 5e-3, false},
               {"mlx_4", "q4_1", 1e-6, true},
               {"mlx_3", "q4_1", 1e-6, true},
               {"gptq_asym3", "q4_1", 1e-2, false},
               {"bitnet", "q4_0", 1e-3, false},
               {"gptq_asym4_ordered", "q8_0", 0.1, false}};
  for (const auto& c : cases) {
    const std::string file = folder / (std::string(c.name) + ".gguf");
    int64_t there = 0;
    for (const io::Converted& t : convert(packed_folder(c.name), file)) {
      const bool made = t.to == DType::parse(c.dtype);
      there += made;
      EXPECT_EQ(t.difference.exact, c.exact || !made) << c.name << " " << t.name;
    }
    EXPECT_GT(there, 1) << c.name;
    const Tensor want = models::load(packed_folder(c.name), {.dtype = f32})(ids);
    EXPECT_LT(apart(models::load(file, {.dtype = f32})(ids), want), c.logits) << c.name;
  }
}

// Ternary codes stay in blocks of 256; whose rows are shorter, in those of 32.
TEST(GgufQuantized, TernaryCodesStay) {
  Folder folder;
  const Tensor codes = floor(hashed("codes", {8, 512}) * 1.5 + 0.5), w = codes * 0.375;
  Tensor t = w.to(DType::parse("i2(tensor)"));
  ASSERT_TRUE(equal(t.to(f32), w));
  EXPECT_EQ(io::nearest_ggml_dtype(t.dtype(), 512), tq2_0);
  EXPECT_EQ(io::nearest_ggml_dtype(t.dtype(), 64), q4_0);
  io::save(folder / "t.safetensors", {{"w", t}});
  for (const DType to : {tq2_0, q4_0})
    for (const io::Converted& c : io::convert(*io::open(folder / "t.safetensors"), folder / "t.gguf", {.format = to})) {
      EXPECT_TRUE(c.difference.exact) << to.name();
      EXPECT_EQ(c.to, to);
    }
}

// A format whose blocks the rows do not fit: as without it, and the report says so.
TEST(GgufQuantized, AnAskedFormatThatDoesNotFit) {
  Folder folder;
  NoGrad guard;
  for (const char* name :
       {"gptq_sym4", "awq", "bnb_nf4", "bitnet", "fp8_e8m0", "mlx_4", "bnb_nf4_double", "gptq_asym4_ordered"}) {
    const std::string file = folder / (std::string(name) + ".gguf"), plain = folder / "plain.gguf";
    std::map<std::string, DType> want;
    for (const io::Converted& c : convert(packed_folder(name), plain)) want[c.name] = c.to;
    int packed = 0;
    for (const io::Converted& c : convert(packed_folder(name), file, {.format = q4_K})) {
      EXPECT_EQ(c.to, want[c.name]) << name << " " << c.name;
      if (!c.from.is_scaled()) continue;
      ++packed;
      EXPECT_NE(c.kept.find("q4_K"), std::string::npos) << name << " " << c.name;
    }
    EXPECT_GE(packed, 7) << name;  // as the folder has them, those that had to be decoded too
    EXPECT_EQ(io::open(file)->tensors().size(), want.size());
  }
}

TEST(GgufQuantized, AFolderStaysPacked) {
  Folder folder;
  for (const char* name : {"gptq_sym4", "awq", "bnb_nf4", "fp8", "mxfp4"}) {
    const std::string copy = folder / name;
    convert(packed_folder(name), copy);
    expect_same_files(packed_folder(name) + "/model.safetensors", copy + "/model.safetensors");
    const auto want = io::open(packed_folder(name)), got = io::open(copy);
    for (const io::TensorInfo& t : want->tensors())
      EXPECT_TRUE(equal(got->get(t.name).to(f32), want->get(t.name).to(f32))) << t.name;
    convert(packed_folder(name), copy + ".f32", {.format = f32});
    EXPECT_FALSE(json::parse(text_of_file(copy + ".f32/config.json")).contains("quantization_config")) << name;
  }
}

}  // namespace
}  // namespace dyadic::testing
