// Checkpoints that other tools have quantized, in GGUF and back: what formats allow is exact.
#include "dyadic/planes.h"
#include "io/quantized/rearranged.h"
#include "tests/models/gguf_models.h"

namespace dyadic::testing {
namespace {

using namespace models;

std::string packed_folder(const std::string& name) { return model_data("quantized/" + name); }

// data/make_gguf.py's nvfp4_model; inputs: with scales of inputs, too, of two dtypes.
void write_nvfp4_model(const std::string& folder, bool inputs = false) {
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
    if (inputs) all.emplace_back(stem + ".input_global_scale", (hashed(stem + ".in", {1}) + 2).to(f32));
    if (inputs) all.emplace_back(stem + ".input_scale", hashed(stem + ".scale", {}).to(bf16));
  }
  std::ranges::sort(all, {}, [](auto& item) { return item.first; });
  io::save(folder + "/model.safetensors", all);
  put_file(folder + "/config.json", config.dump(2));
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
  convert(file, folder / "back");
  EXPECT_EQ(text_of_file(folder / "back/config.json"), text_of_file(model + "/config.json"));
  expect_same_files(model + "/model.safetensors", folder / "back/model.safetensors");
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
  } cases[] = {
      {"gptq_sym4", "q4_0", 1e-6, true},   {"gptq_sym8", "q8_0", 1e-6, true}, {"awq", "q4_1", 5e-3, false},
      {"bnb_nf4", "q8_0", 0.08, false},    {"bnb_fp4", "q8_0", 0.08, false},  {"fp8", "q8_0", 0.5, false},
      {"bnb_int8", "q8_0", 5e-3, false},   {"mlx_4", "q4_1", 1e-6, true},     {"mlx_3", "q4_1", 1e-6, true},
      {"gptq_asym3", "q4_1", 1e-2, false}, {"bitnet", "q4_0", 1e-3, false},   {"gptq_asym4_ordered", "q8_0", 0.1, false}};
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

// A divisor whose reciprocal's is another number, scales of inputs: by way of GGUF, of a module, of both.
TEST(GgufQuantized, WhatIsBesideWeightsStays) {
  Folder folder;
  const std::string model = folder / "model", file = folder / "model.gguf", want = model + "/model.safetensors";
  write_nvfp4_model(model, true);
  int lost = 0;
  for (auto& [name, t] : io::load_safetensors(want).tensors)
    if (name.ends_with("weight_global_scale")) lost += 1 / (1 / t.item<float>()) != t.item<float>();
  ASSERT_GT(lost, 0);
  convert(model, file), convert(file, folder / "back");
  expect_same_files(want, folder / "back/model.safetensors");
  models::load(model)->save_pretrained(folder / "saved");
  expect_same_files(want, folder / "saved/model.safetensors");
  models::load(file)->save_pretrained(folder / "saved2");
  const auto saved = io::open(folder / "saved2/model.safetensors");
  for (auto& [name, t] : io::load_safetensors(want).tensors)  // norms are f32 in GGUF
    if (name.find("_proj") != name.npos) { EXPECT_EQ(content(saved->get(name)), content(t)) << name; }
  // Weights that have changed have a divisor of their own, and the rest stays.
  Model changed = models::load(model);
  const NoGrad guard;
  nn::NamedTensors state;
  for (auto& [name, p] : changed->named_parameters())
    state.emplace_back(name, p.dtype() == nvfp4 ? (p.detach().to(f32) * 3).to(nvfp4) : p.detach());
  changed->load_state_dict(state, true, true);
  changed->save_pretrained(folder / "changed");
  const auto now = io::open(folder / "changed"), then = io::open(want);
  for (const io::TensorInfo& t : now->tensors())
    if (t.dtype == nvfp4) {
      EXPECT_LT(apart(now->get(t.name).to(f32), changed->named_parameters()[t.name].to(f32)), 1e-6) << t.name;
    }
  const auto stored = io::open(folder / "changed/model.safetensors");
  EXPECT_EQ(stored->tensors().size(), then->tensors().size());
}

TEST(GgufQuantized, OthersTextForWhatIsBesideWeights) {
  Folder folder;
  const std::string model = folder / "model", file = folder / "model.gguf";
  write_nvfp4_model(model);
  convert(model, file);
  const auto with = [&](const std::string& text) -> std::string {
    const auto source = io::GgufFile::open(file);
    io::GgufMetadata keys;
    for (auto& [key, value] : source->values())
      keys.emplace_back(key, key == "dyadic.beside_weights" ? io::GgufValue(text) : value);
    io::save_gguf(folder / "other.gguf", source->tensors(), [&](size_t i) { return source->get(i); }, keys);
    try {
      convert(folder / "other.gguf", folder / "back");
    } catch (const ValueError& e) { return std::string(e.what()).substr((folder / "other.gguf").size()); }
    return "no error";
  };
  for (const char* text :
       {"", "[1]", R"({"w": 1})", R"({"w": {"t": 1}})", R"({"w": {"t": ["f99", [], ""]}})",
        R"({"w": {"t": ["f32", [1], "00"]}})", R"({"w": {"t": ["f32", [1], "0000000g"]}})",
        R"({"w": {"t": ["nf4", [2], "00"]}})", R"({"w": {"t": ["f32", [9223372036854775807, 2], "00000000"]}})",
        R"({"w": {"t": ["f32", [-1], "00000000"]}})", R"({"w": {"t": ["u8", [1], "000"]}})"})
    EXPECT_EQ(with(text), ": key \"dyadic.beside_weights\" is not as it must be") << text;
  EXPECT_EQ(with("{}"), "no error");
  EXPECT_EQ(with(R"({"w": {"t": ["f32", [0, 3], ""]}})"), "no error");  // of a weight that is not there
}

// Codes less the zero point are q8_0's codes, where they fit.
TEST(GgufQuantized, IntegersBecomeBytesWithTheirCodes) {
  const NoGrad guard;
  for (const char* name : {"i2(group=32,scale=f16)", "i3(group=64,zero,scale=f16)", "i4(group=32,zero,scale=f16)",
                           "i4(row,zero,scale=f16)", "i4(tensor,scale=f16)", "i8(group=32,scale=f16)"}) {
    const Tensor t = (hashed(name, {6, 128}) + 0.7).to(DType::parse(name)), q = io::rearranged(t, q8_0);
    ASSERT_TRUE(q.defined()) << name;
    EXPECT_TRUE(equal(q.to(f32), t.to(f32))) << name;
  }
  // 8 bits: blocks where the difference does not fit are rounded as they would be alone.
  const Tensor halves = cat(std::vector{hashed("a", {6, 64}) + 0.05, hashed("b", {6, 64}) + 0.7}, 1);
  const Tensor t = halves.to(DType::parse("i8(group=64,zero,scale=f16)")), plain = t.to(f32);
  const Tensor q = io::rearranged(t, q8_0).to(f32), rounded = plain.to(q8_0).to(f32);
  int exact = 0, alone = 0;
  for (int64_t b = 0; b < 6 * 4; ++b) {
    const Tensor is = narrow(q.reshape({24, 32}), 0, b, 1), was = narrow(plain.reshape({24, 32}), 0, b, 1);
    const bool same = equal(is, was);
    exact += same, alone += !same && equal(is, narrow(rounded.reshape({24, 32}), 0, b, 1));
  }
  EXPECT_EQ(exact + alone, 24);
  EXPECT_GT(exact, 0);
  EXPECT_GT(alone, 0);
  // Scales that f16 does not hold, rows that are no whole blocks, columns that choose their group: as any other values.
  EXPECT_FALSE(io::rearranged((hashed("w", {2, 64}) * 1e-9).to(DType::parse("i4(group=32,zero)")), q8_0).defined());
  EXPECT_FALSE(io::rearranged(hashed("w", {2, 48}).to(DType::parse("i4(group=16,zero,scale=f16)")), q8_0).defined());
  EXPECT_FALSE(io::rearranged(zeros({0, 32}).to(DType::parse("i4(group=32,zero,scale=f16)")), q8_0).defined());
  // MLX's offsets are whole numbers of steps, but for their rounding: far closer than rounding the values, where codes fit.
  for (const char* name : {"mlx_3", "mlx_4", "mlx_6", "mlx_8"}) {
    const auto file = io::open(packed_folder(name));
    for (const io::TensorInfo& info : file->tensors())
      if (info.dtype.is_scaled()) {
        const Tensor w = file->get(info.name), codes = io::rearranged(w, q8_0);
        ASSERT_TRUE(codes.defined());
        const double kept = io::compare(w, codes).rmse, again = io::compare(w, w.to(f32).to(q8_0)).rmse;
        EXPECT_LE(kept, again / (std::string_view(name) == "mlx_8" ? 1 : 2)) << name << " " << info.name;
      }
  }
}

// What is to be kept is kept where there is a place for it; in GGUF it becomes what it would without a format.
TEST(GgufQuantized, KeepIsOfPackedWeightsToo) {
  Folder folder;
  const std::string name = "model.layers.0.mlp.up_proj.weight";
  for (const char* packing : {"awq", "bnb_nf4", "gptq_sym4", "fp8", "mlx_6"}) {
    const std::string from = packed_folder(packing);
    convert(from, folder / "same", {.map = {{name, "keep"}}});
    expect_same_files(from + "/model.safetensors", folder / "same/model.safetensors");
    EXPECT_EQ(text_of_file(folder / "same/config.json"), text_of_file(from + "/config.json"));
    convert(from, folder / "one", {.format = bf16, .map = {{name, "keep"}}});
    const auto want = io::open(from), got = io::open(folder / "one");
    EXPECT_EQ(got->get(name).dtype(), want->get(name).dtype()) << packing;
    EXPECT_TRUE(equal(got->get(name).to(f32), want->get(name).to(f32))) << packing;
    EXPECT_EQ(got->get("model.layers.0.mlp.down_proj.weight").dtype(), bf16) << packing;
    for (const io::Converted& c : convert(from, folder / "one.gguf", {.format = f16, .map = {{name, "keep"}}})) {
      const DType scaled = io::nearest_ggml_dtype(want->get(name).dtype(), want->get(name).size(1));
      if (c.name == "blk.0.ffn_down.weight") { EXPECT_EQ(c.to, f16) << packing; }
      if (c.name != "blk.0.ffn_up.weight") continue;
      EXPECT_EQ(c.to, scaled) << packing;
      EXPECT_NE(c.kept.find("ggml has no "), std::string::npos) << c.kept;
    }
    try {
      convert(from, folder / "none", {.map = {{"nobody", "keep"}}});
      FAIL();
    } catch (const ValueError& e) { EXPECT_NE(std::string(e.what()).find("\"nobody\""), std::string::npos); }
  }
}

// Packed in a way that is not known here: it can be copied, as it is, and becomes nothing else.
TEST(GgufQuantized, UnknownPackings) {
  Folder folder;
  const std::string model = folder / "model";
  fs::create_directories(model);
  io::save(model + "/model.safetensors", {{"model.layers.0.mlp.up_proj.W_q", zeros({4, 4}, u8)}});
  json c = json::parse(text_of_file(model_data("llama") + "/config.json"));
  c["quantization_config"] = {{"quant_method", "hqq"}};
  put_file(model + "/config.json", c.dump(2));
  convert(model, folder / "copy");
  expect_same_files(model + "/model.safetensors", folder / "copy/model.safetensors");
  EXPECT_EQ(text_of_file(folder / "copy/config.json"), text_of_file(model + "/config.json"));
  const auto said = [&](const std::string& out, const io::ConvertOptions& o) -> std::string {
    try {
      convert(model, folder / out, o);
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  for (const std::string& text : {said("x.gguf", {}), said("x", {.format = bf16}), said("x", {.map = {{"*", "f16"}}})})
    EXPECT_TRUE(text.starts_with(model + ": config.json says that the weights are quantized by \"hqq\"; what is read is "))
        << text;
  EXPECT_FALSE(fs::exists(folder / "x.gguf"));
  EXPECT_FALSE(fs::exists(folder / "x"));
}

TEST(GgufQuantized, AFolderStaysPacked) {
  Folder folder;
  int packings = 0;
  for (const auto& entry : fs::directory_iterator(packed_folder(""))) {
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename().native(), copy = folder / name;
    ++packings;
    convert(packed_folder(name), copy);
    expect_same_files(packed_folder(name) + "/model.safetensors", copy + "/model.safetensors");
    EXPECT_EQ(text_of_file(copy + "/config.json"), text_of_file(packed_folder(name) + "/config.json"));
    const auto want = io::open(packed_folder(name)), got = io::open(copy);
    for (const io::TensorInfo& t : want->tensors())
      EXPECT_TRUE(equal(got->get(t.name).to(f32), want->get(t.name).to(f32))) << t.name;
    convert(packed_folder(name), copy + ".f32", {.format = f32});
    EXPECT_FALSE(json::parse(text_of_file(copy + ".f32/config.json")).contains("quantization_config")) << name;
  }
  EXPECT_GE(packings, 20);
}

}  // namespace
}  // namespace dyadic::testing
