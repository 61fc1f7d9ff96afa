// Models whose weights other tools have quantized (data/quantized/make_quantized.py): opened as weights, with the tools' own
// numbers, and run.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "dyadic/convert.h"
#include "dyadic/io.h"
#include "dyadic/models.h"
#include "dyadic/planes.h"
#include "tests/io/helpers.h"
#include "tests/models/apart.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {
namespace {

using nlohmann::json;

struct QuantizedCase {
  const char *name, *dtype;
  double apart;  // of a weight from the tool's own, as a share of the largest
};
// 8 bits and nested scales: the tools multiply by rounded constants that this does not.
const QuantizedCase kQuantizedCases[] = {
    {"bnb_nf4", "nf4(block=64)", 0},
    {"bnb_nf4_double", "nf4(block=64,double)", 2e-7},
    {"bnb_fp4", "fp4(block=64)", 1e-7},
    {"bnb_int8", "i8(row)", 2e-7},
    {"gptq_sym4", "i4(group=32,scale=f16)", 0},
    {"gptq_asym4_ordered", "i4_ordered(group=32,zero,scale=f16)", 0},
    {"gptq_asym3", "i3(group=32,zero,scale=f16)", 0},
    {"gptq_sym8", "i8(group=32,scale=f16)", 0},
    {"gptq_v2_asym8", "i8(group=32,zero,scale=f16)", 0},
    {"awq", "i4(group=32,zero,scale=f16)", 0},
    {"fp8", "f8e4m3fn(tile=128x128)", 0},
    {"fp8_e8m0", "f8e4m3fn(tile=32x64,scale=f8e8m0fnu)", 0},
    {"mxfp8", "mxfp8_e4m3", 0},
    {"mxfp4", "mxfp4", 0},
    {"ct_int4", "i4(group=32,scale=f16)", 0},
    {"ct_int4_asym", "i4(group=32,zero,scale=f16)", 0},
    {"ct_int8", "i8(row,scale=f16)", 0},
    {"ct_float8", "f8e4m3fn(row,scale=f16)", 0},
    {"ct_nvfp4", "nvfp4", 2e-7},
    {"ct_mxfp4", "mxfp4", 0},
    {"torchao_int8", "i8(row,zero)", 0},
    {"torchao_float8", "f8e4m3fn(row)", 0},
    {"mlx_4", "u4(group=32,scale=f16)", 2e-7},
    {"mlx_8", "u8(group=32,scale=f16)", 2e-7},
    {"mlx_3", "u3(group=32,scale=f16)", 2e-7},
    {"mlx_6", "u6(group=32,scale=f16)", 2e-7},
    {"mlx_mxfp4", "mxfp4", 0},
    {"bitnet", "i2(tensor)", 2e-7},
};

std::string quantized_folder(const std::string& name) { return model_data("quantized/" + name); }
struct Expected {
  Tensor ids, logits, weight;
  std::string name;  // of the weight
};
Expected expected(const std::string& name) {
  const io::SafeTensors all = io::load_safetensors(quantized_folder(name) + "/expected.safetensors");
  std::map<std::string, Tensor> t(all.tensors.begin(), all.tensors.end());
  return {t["ids"], t["logits"], t["weight"], all.metadata.at("weight")};
}

class Quantized : public ::testing::TestWithParam<QuantizedCase> {};
INSTANTIATE_TEST_SUITE_P(All, Quantized, ::testing::ValuesIn(kQuantizedCases),
                         [](auto& info) { return std::string(info.param.name); });

TEST_P(Quantized, WeightsAreTheToolsOwn) {
  const QuantizedCase& c = GetParam();
  const Expected want = expected(c.name);
  const auto file = io::open(quantized_folder(c.name));
  const Tensor w = file->get(want.name);
  EXPECT_EQ(w.dtype().name(), c.dtype);
  EXPECT_EQ(w.sizes(), want.weight.sizes());
  if (c.apart == 0) {
    EXPECT_TRUE(equal(w.to(f32), want.weight));
  } else {
    EXPECT_LT(apart(w.to(f32), want.weight), c.apart);
  }
  size_t packed = 0;
  for (const io::TensorInfo& t : file->tensors()) {
    const bool linear = t.name.ends_with("_proj.weight") || t.name.find("experts") != std::string::npos;
    if (t.dtype == w.dtype())
      packed += linear;
    else
      EXPECT_EQ(t.dtype, f32) << t.name;
  }
  EXPECT_EQ(packed, std::string_view(c.name) == "mxfp4" ? 2u : 7u);
}

TEST_P(Quantized, LogitsAreThoseOfTheSameWeights) {
  const QuantizedCase& c = GetParam();
  const Expected want = expected(c.name);
  NoGrad guard;
  for (const DType dtype : {DType(), f32}) {
    models::Model m = models::load(quantized_folder(c.name), {.dtype = dtype});
    EXPECT_LT(apart(m(want.ids).to(f32), want.logits), 1e-4) << dtype.name();
  }
}

// In the tool's own packing, but for those that are only read, which become ours.
TEST_P(Quantized, SavedAgainItIsTheSame) {
  const std::string name = GetParam().name;
  const Folder there;
  models::Model m = models::load(quantized_folder(name));
  m->save_pretrained(there / "model");
  models::Model again = models::load(there / "model");
  auto want = m->named_parameters(), got = again->named_parameters();
  ASSERT_EQ(want.keys(), got.keys());
  for (auto& [key, t] : want) EXPECT_EQ(content(got[key]), content(t)) << key;
  const bool read_only = name.starts_with("torchao") || name.starts_with("mlx") || name == "bitnet" || name == "ct_mxfp4";
  EXPECT_NE(json::parse(text_of_file(there / "model/config.json")).contains("quantization_config"), read_only);
  if (read_only) return;
  const auto ours = io::open(there / "model/model.safetensors"),
             theirs = io::open(quantized_folder(name) + "/model.safetensors");
  for (const io::TensorInfo& t : theirs->tensors()) {
    ASSERT_TRUE(ours->has(t.name)) << t.name;
    const Tensor is = ours->get(t.name), was = theirs->get(t.name);
    if (t.name.ends_with("global_scale")) {  // NVFP4's is kept as its inverse, which rounds
      EXPECT_LE(apart(is, was), 2e-7) << t.name;
    } else {
      EXPECT_EQ(content(is), content(was)) << t.name;
    }
  }
  EXPECT_EQ(ours->tensors().size(), theirs->tensors().size());
}

// The tensors of a stored model, changed, and what becomes of opening them.
struct Changed {
  std::map<std::string, Tensor> tensors;
  json config;
  explicit Changed(const std::string& name) : config(json::parse(text_of_file(quantized_folder(name) + "/config.json"))) {
    for (auto& [key, t] : io::load_safetensors(quantized_folder(name) + "/model.safetensors").tensors) tensors[key] = t;
  }
  std::string error() const {  // without the file's name
    const Folder there;
    io::save_safetensors(there / "model.safetensors", {tensors.begin(), tensors.end()});
    try {
      models::from_file(config.dump(), *io::open(there / "model.safetensors"), {.dtype = f32});
    } catch (const Error& e) { return std::string(e.what()).substr((there / "model.safetensors").size() + 2); }
    return "";
  }
};
const std::string kStem = "model.layers.0.self_attn.k_proj", kWeight = kStem + ".weight";

TEST(QuantizedErrors, OfBitsandbytes) {
  Changed c("bnb_nf4");
  EXPECT_EQ(c.error(), "");
  const auto with = [](const char* name, auto change) {
    Changed c(name);
    change(c);
    return c.error();
  };
  const std::string weight = "weight \"" + kWeight + "\": ";
  EXPECT_EQ(with("bnb_nf4", [](Changed& c) { c.tensors.erase(kWeight + ".absmax"); }),
            weight + "\"" + kWeight + ".absmax\" is missing");
  EXPECT_EQ(with("bnb_nf4", [](Changed& c) { c.tensors[kWeight + ".absmax"] = zeros({31}); }),
            weight + "\"" + kWeight + ".absmax\": expected 32 elements, and it is [31]");
  EXPECT_EQ(with("bnb_nf4", [](Changed& c) { c.tensors[kWeight] = zeros({1023, 1}, u8); }),
            weight + "expected 1024 bytes of codes, and there are 1023");
  EXPECT_EQ(with("bnb_nf4", [](Changed& c) { c.tensors[kWeight + ".quant_map"] = zeros({16}); }),
            weight + "its quant_map is not that of nf4");
  const auto state = [&](const std::string& text) {
    return with("bnb_nf4", [&](Changed& c) {
      c.tensors[kWeight + ".quant_state.bitsandbytes__nf4"] = from_data(text.data(), {int64_t(text.size())}, u8);
    });
  };
  EXPECT_EQ(state("[[[[[["), weight + "its quant_state is not a JSON object");
  EXPECT_EQ(state(R"({"quant_type": "fp4", "blocksize": 64, "shape": [32, 64]})"),
            weight + "its quant_state is of type \"fp4\"");
  EXPECT_EQ(state(R"({"quant_type": "nf4", "blocksize": 0, "shape": [32, 64]})"),
            weight + "its quant_state has a blocksize that is no size");
  EXPECT_EQ(state(R"({"quant_type": "nf4", "blocksize": 7, "shape": [32, 64]})"),
            weight + "its quant_state has a blocksize of 7");
  EXPECT_EQ(state(R"({"quant_type": "nf4", "blocksize": 64, "shape": [4294967296, 4294967296]})"),
            weight + "its quant_state has no shape that a tensor can have");
  EXPECT_EQ(state(R"({"quant_type": "nf4", "blocksize": 64, "shape": [16, 64]})"),
            weight + "expected 512 bytes of codes, and there are 1024");
  EXPECT_EQ(with("bnb_int8", [](Changed& c) { c.tensors.erase(kStem + ".SCB"); }),
            "tensor \"" + kWeight + "\": config.json says that it is quantized by bitsandbytes, and its scales are not there");
  EXPECT_EQ(with("bnb_int8", [](Changed& c) { c.tensors[kStem + ".weight_format"] = ones({}, u8); }),
            "weight \"" + kStem + "\": its elements are in the order of a GPU's tiles");
}

TEST(QuantizedErrors, OfGptqAndAwq) {
  const auto with = [](const char* name, auto change) {
    Changed c(name);
    change(c);
    return c.error();
  };
  const std::string weight = "weight \"" + kStem + "\": ";
  EXPECT_EQ(with("gptq_sym4", [](Changed& c) { c.tensors[kStem + ".scales"] = zeros({2, 31}, f16); }),
            weight + "\"" + kStem + ".qweight\": expected [n, 31], and it is [8, 32]");
  EXPECT_EQ(with("gptq_sym4", [](Changed& c) { c.tensors[kStem + ".qzeros"] = zeros({2, 5}, i32); }),
            weight + "codes of 8 words a column are of no known width");
  EXPECT_EQ(with("gptq_asym4_ordered", [](Changed& c) { c.tensors[kStem + ".g_idx"] = full({64}, 2, i32); }),
            weight + "column 0 is of group 2, and there are 2");
  EXPECT_EQ(with("gptq_sym4", [](Changed& c) { c.tensors[kStem + ".g_idx"] = zeros({63}, i32); }),
            weight + "\"" + kStem + ".g_idx\": expected [64], and it is [63]");
  EXPECT_EQ(with("gptq_sym4", [](Changed& c) { c.config["quantization_config"]["checkpoint_format"] = "marlin"; }),
            "its checkpoint_format is \"marlin\"; what is read is gptq, gptq_v2");
  EXPECT_EQ(with("awq", [](Changed& c) { c.tensors[kStem + ".qzeros"] = zeros({3, 4}, i32); }),
            weight + "\"" + kStem + ".qzeros\": expected [2, 4], and it is [3, 4]");
  EXPECT_EQ(with("awq", [](Changed& c) { c.config["quantization_config"]["version"] = "gemv"; }),
            "AWQ's version \"gemv\" with 4 bits; what is read is gemm with 4");
  EXPECT_EQ(with("awq", [](Changed& c) { c.config["quantization_config"]["quant_method"] = "none"; }).substr(0, 73),
            "config.json says that the weights are quantized by \"none\"; what is read i");
}

std::vector<io::Converted> convert_linears(const std::string& from, const std::string& to, const char* format) {
  return io::convert(*io::open(from), to, {.map = {{"*_proj.weight", format}, {"*", "keep"}}});
}

// Codes and scales are moved: to the bit, and back to the same planes.
TEST(QuantizedConversion, SymmetricGptqIsGgufsAndBack) {
  const Folder there;
  const struct {
    const char *name, *there, *back;
  } cases[] = {{"gptq_sym4", "q4_0", "i4(group=32,scale=f16)"}, {"gptq_sym8", "q8_0", "i8(group=32,scale=f16)"}};
  for (const auto& c : cases) {
    const std::string gguf = there / (std::string(c.name) + ".gguf"), again = there / (std::string(c.name) + ".safetensors");
    for (const io::Converted& t : convert_linears(quantized_folder(c.name), gguf, c.there))
      EXPECT_TRUE(t.difference.exact) << t.name;
    for (const io::Converted& t : convert_linears(gguf, again, c.back)) EXPECT_TRUE(t.difference.exact) << t.name;
    const auto was = io::open(quantized_folder(c.name)), is = io::open(again);
    const std::string name = expected(c.name).name;
    EXPECT_EQ(io::open(gguf)->get(name).dtype(), DType::parse(c.there));
    EXPECT_EQ(content(is->get(name)), content(was->get(name)));
  }
}

TEST(QuantizedConversion, WhatIsNotExactSaysHowFarItIs) {
  const Folder there;
  for (const auto& [name, format] : {std::pair("awq", "q4_1"), {"fp8", "q8_0"}, {"bnb_nf4", "q4_0"}, {"gptq_asym3", "q4_1"}})
    for (const io::Converted& t : convert_linears(quantized_folder(name), there / "out.safetensors", format)) {
      const bool linear = t.name.ends_with("_proj.weight") && t.to == DType::parse(format);
      EXPECT_EQ(t.difference.exact, !linear) << name << " " << t.name;
      if (linear) { EXPECT_GT(t.difference.max_abs, 0) << name; }
    }
}

// Codes and scales stay; of a block's minimum, at most 15 scales, f16 keeps 11 bits.
TEST(QuantizedConversion, ZeroPointsBecomeMinimums) {
  const Folder there;
  int weights = 0;
  for (const char* name : {"awq", "ct_int4_asym", "gptq_asym3"}) {
    const auto was = io::open(quantized_folder(name));
    for (const io::Converted& t : convert_linears(quantized_folder(name), there / "out.gguf", "q4_1")) {
      if (t.to != q4_1) continue;
      double scale = 0;
      for (const auto& [part, values] : planes(was->get(t.name)))
        if (part == "scales") scale = values.to(f32).abs().max().item<double>();
      EXPECT_LE(t.difference.max_abs, 15 * scale * 0x1p-12) << name << " " << t.name;
      ++weights;
    }
  }
  EXPECT_GT(weights, 1);
}

TEST(QuantizedConversion, Mxfp4IsGgufsOwn) {
  const Folder there;
  for (const io::Converted& t : io::convert(*io::open(quantized_folder("ct_mxfp4")), there / "m.gguf"))
    EXPECT_TRUE(t.difference.exact) << t.name;
  const Expected want = expected("ct_mxfp4");
  EXPECT_EQ(content(io::open(there / "m.gguf")->get(want.name)),
            content(io::open(quantized_folder("ct_mxfp4"))->get(want.name)));
}

TEST(QuantizedErrors, OfTheOthers) {
  const auto with = [](const char* name, auto change) {
    Changed c(name);
    change(c);
    return c.error();
  };
  const std::string weight = "weight \"" + kStem + "\": ";
  EXPECT_EQ(with("fp8", [](Changed& c) { c.tensors.erase(kWeight + "_scale_inv"); }),
            "tensor \"" + kWeight + "\": config.json says that it is quantized by fp8, and its scales are not there");
  EXPECT_EQ(
      with("fp8", [](Changed& c) { c.tensors[kWeight + "_scale_inv"] = ones({2, 5}); }),
      "weight \"" + kWeight + "\": scales [2, 5] do not fit [32, 144] in blocks of 128 x 128, which the configuration says");
  EXPECT_NE(with("fp8", [](Changed& c) { c.config["quantization_config"]["weight_block_size"] = {0, 128}; }), "");
  EXPECT_EQ(with("ct_int4", [](Changed& c) { c.tensors[kWeight + "_shape"] = full({2}, int64_t(1) << 60, i64); }),
            weight + "its weight_shape is [1152921504606846976, 1152921504606846976]");
  EXPECT_EQ(with("ct_int4", [](Changed& c) { c.tensors[kWeight + "_scale"] = ones({32, 63}, f16); }),
            weight + "63 groups do not make 64 columns");
  EXPECT_EQ(with("ct_nvfp4", [](Changed& c) { c.tensors.erase(kWeight + "_global_scale"); }),
            weight + "\"" + kWeight + "_global_scale\" is missing");
  EXPECT_EQ(with("mlx_4", [](Changed& c) { c.tensors[kStem + ".biases"] = ones({32, 3}, f16); }),
            weight + "\"" + kStem + ".biases\": expected [32, 2], and it is [32, 3]");
  EXPECT_EQ(with("mlx_4", [](Changed& c) { c.config["quantization_config"]["bits"] = 5; }),
            "weight \"model.embed_tokens\": 8 words a row do not hold codes of 5 bits");
  EXPECT_EQ(with("bitnet", [](Changed& c) { c.tensors[kWeight + "_scale"] = ones({3}); }),
            weight + "\"" + kWeight + "_scale\": expected 1 elements, and it is [3]");
  const std::string experts = "model.layers.0.mlp.experts.down_proj";
  EXPECT_EQ(with("mxfp4", [&](Changed& c) { c.tensors[experts + "_scales"] = zeros({4, 32, 2}, u8); }),
            "weight \"" + experts + "\": \"" + experts + "_scales\": expected [4, 32, 1], and it is [4, 32, 2]");
}

// What the configuration says counts; where it says nothing, DeepSeek's size, and none that shapes might suggest: 2 x 2 scales
// of 144 x 160 could be those of 72 x 80.
TEST(Quantized, SizesOfTilesAreNotGuessed) {
  const std::string name = "model.layers.0.mlp.down_proj.weight";
  for (const json& size : {json(), json({64, 64}), json({256, 256}), json({128, 128})}) {
    Changed c("fp8");
    c.config["quantization_config"]["weight_block_size"] = size;
    const bool right = size.is_null() || size[0] == 128;
    EXPECT_EQ(c.error().empty(), right) << size;
    if (!right) { EXPECT_TRUE(c.error().ends_with(", which the configuration says")) << c.error(); }
  }
  Changed c("fp8");
  c.config["quantization_config"].erase("weight_block_size");
  EXPECT_EQ(c.error(), "");
  c.tensors[name + "_scale_inv"] = ones({3, 4});  // 48 x 40, as it seems
  EXPECT_EQ(c.error(), "weight \"" + name +
                           "\": scales [3, 4] do not fit [144, 160] in blocks of 128 x 128, and the configuration says no "
                           "other size");
  c.tensors[name + "_scale_inv"] = ones({144, 1});
  EXPECT_EQ(c.error(), "");
  c.tensors[name + "_scale_inv"] = ones({1, 144});  // of no rows
  EXPECT_NE(c.error(), "");
  Changed other("ct_float8");  // a size of its own name
  for (auto& [key, t] : other.tensors)
    if (key.ends_with("_proj.weight_scale")) {
      const IntList s = other.tensors[key.substr(0, key.size() - 6)].sizes();
      t = ones({(s[0] + 15) / 16, (s[1] + 31) / 32}, f16);
    }
  json& weights = other.config["quantization_config"]["config_groups"]["group_0"]["weights"];
  weights["strategy"] = "block", weights["block_structure"] = {16, 32};
  EXPECT_EQ(other.error(), "");
  weights["block_structure"] = {16, 16};
  EXPECT_NE(other.error(), "");
}

TEST(Quantized, AutoRoundIsGptqOrAwq) {
  for (const auto& [name, format] : {std::pair("gptq_asym3", "auto_round:auto_gptq"), {"awq", "auto_round:auto_awq"}}) {
    Changed c(name);
    c.config["quantization_config"]["quant_method"] = "auto-round";
    c.config["quantization_config"]["packing_format"] = format;
    EXPECT_EQ(c.error(), "");
    c.config["quantization_config"]["packing_format"] = "auto_round:other";
    EXPECT_EQ(c.error(), "packing_format \"auto_round:other\" is neither GPTQ's nor AWQ's");
  }
}

TEST(QuantizedConversion, TransposedWeightsAreCopied) {
  const Folder there;
  for (const io::Converted& t : io::convert(*io::open(quantized_folder("mxfp4")), there / "m.safetensors"))
    EXPECT_TRUE(t.difference.exact) << t.name;
  const std::string name = expected("mxfp4").name;
  EXPECT_EQ(content(io::open(there / "m.safetensors")->get(name)), content(io::open(quantized_folder("mxfp4"))->get(name)));
  io::convert(*io::open(there / "m.safetensors"), there / "again.safetensors");
  EXPECT_EQ(content(io::open(there / "again.safetensors")->get(name)), content(io::open(quantized_folder("mxfp4"))->get(name)));
  for (const io::Converted& t :
       io::convert(*io::open(quantized_folder("mxfp4")), there / "q.safetensors", {.map = {{"*experts*proj", "q8_0"}}}))
    EXPECT_EQ(t.to, t.name.find("experts") != t.name.npos && !t.name.ends_with("bias") ? q8_0 : f32) << t.name;
}

std::string g_said;

// Labels lie: zero points that are all the middle of the codes are version 2's whatever the label says.
TEST(Quantized, ZeroPointsOfTheOtherVersionAreRecognized) {
  Changed c("gptq_sym4");
  for (auto& [name, t] : c.tensors)
    if (name.ends_with(".qzeros")) t = t + 0x11111111;
  g_said.clear();
  set_warning_handler([](std::string_view text) { g_said += std::string(text) + "\n"; });
  EXPECT_EQ(c.error(), "");
  set_warning_handler(nullptr);
  EXPECT_TRUE(g_said.ends_with(": config.json says version 1, and zero points are those of version 2\n")) << g_said;
  c.config["quantization_config"]["sym"] = false;  // then the label counts
  g_said.clear();
  set_warning_handler([](std::string_view text) { g_said += std::string(text) + "\n"; });
  EXPECT_EQ(c.error(), "");
  set_warning_handler(nullptr);
  EXPECT_EQ(g_said, "");
  c.config["quantization_config"]["sym"] = true;
  const Folder there;
  io::save_safetensors(there / "model.safetensors", {c.tensors.begin(), c.tensors.end()});
  std::ofstream(there / "config.json") << c.config.dump();
  const Expected want = expected("gptq_sym4");
  set_warning_handler([](std::string_view) {});
  EXPECT_TRUE(equal(io::open(there.path().native())->get(want.name).to(f32), want.weight));
  set_warning_handler(nullptr);
}

}  // namespace
}  // namespace dyadic::testing
