// dyadic inspect, convert, diff.
#include "dyadic/ops.h"
#include "dyadic/tensor_file.h"
#include "tests/cli/program.h"

namespace dyadic::testing {
namespace {

std::string sample(const TestFolder& folder) {
  manual_seed(4);
  io::save(folder / "m.safetensors",
           {{"embed.weight", randn({16, 256})}, {"h.weight", randn({8, 256}).to(bf16)}, {"norm", ones({256})}},
           {.metadata = {{"note", "n"}}});
  return folder / "m.safetensors";
}

TEST(Files, Inspect) {
  const TestFolder folder;
  const std::string path = sample(folder);
  write_file(folder / "config.json", R"({"architectures":["LlamaForCausalLM"],"quantization_config":{"quant_method":"gptq"}})");
  write_file(folder / "tokenizer.json", "{}");
  const auto j = run({"inspect", path, "--stats", "--json"}).json();
  EXPECT_EQ(j["format"], "safetensors");
  EXPECT_EQ(j["architecture"], "LlamaForCausalLM");
  EXPECT_EQ(j["quantization"], "gptq");
  EXPECT_EQ(j["tokenizer"], "tokenizer.json");
  EXPECT_EQ(j["parameters"], 24 * 256 + 256);
  EXPECT_EQ(j["bytes_by_dtype"], (nlohmann::json{{"f32", 4 * 17 * 256}, {"bf16", 2 * 8 * 256}}));
  EXPECT_EQ(j["metadata"]["note"], "n");
  EXPECT_EQ(j["tensors"][2]["mean"], 1.0);
  EXPECT_EQ(j["tensors"][0]["shape"], (std::vector<int>{16, 256}));
  EXPECT_EQ(run({"inspect", folder / "", "--json"}).json()["tensors"].size(), 3u);
  EXPECT_NE(run({"inspect", path, "--tensors"}).out.find("h.weight      [8, 256]   bf16"), std::string::npos);
  write_file(folder / "bad.safetensors", "short");
  EXPECT_EQ(complaint(run({"inspect", folder / "bad.safetensors"}), 1),
            folder / "bad.safetensors" + ": too short: 5 bytes, the header's length alone takes 8");
}

TEST(Files, Convert) {
  const TestFolder folder;
  const std::string path = sample(folder), out = folder / "q.safetensors";
  const auto j = run({"convert", path, out, "--format", "q4_K", "--map", "embed.*=bf16", "--json"}).json();
  ASSERT_EQ(j["tensors"].size(), 3u);
  const auto& h = j["tensors"][1];
  EXPECT_EQ(h["name"], "h.weight");
  EXPECT_EQ(h["from"], "bf16");
  EXPECT_EQ(h["to"], "q4_K");
  EXPECT_EQ(h["exact"], false);
  EXPECT_GT(h["max_abs"], h["rmse"]);
  EXPECT_EQ(j["tensors"][2]["exact"], true);
  EXPECT_EQ(run({"inspect", out, "--json"}).json()["quantization"], "q4_K");
  EXPECT_EQ(complaint(run({"convert", path, folder / "x.unknown"}), 1).substr(0, 26), "save: which kind of file? ");
  EXPECT_NE(complaint(run({"convert", path, out, "--map", "nothing"}), 2).find("nothing is no rule"), std::string::npos);
}

// What is held at once is a tensor and what becomes of it, not the file.
TEST(Files, ConvertHoldsOneTensor) {
  const TestFolder folder;
  io::NamedTensors all;
  for (int i = 0; i < 24; ++i) all.emplace_back("w" + std::to_string(i), ones({512, 1024}).to(bf16));
  io::save(folder / "m.safetensors", all);
  const Outcome o = run({"convert", folder / "m.safetensors", folder / "f.safetensors", "--format", "f32", "--memory-limit",
                         "16M", "--max-shard-size", "9M"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, folder / "f.safetensors" + ": 24 tensors, 24 of them exact\n");
  EXPECT_TRUE(fs::exists(folder / "f-00006-of-00006.safetensors"));
  EXPECT_EQ(run({"diff", folder / "m.safetensors", folder / "f.safetensors.index.json", "--json"}).json()["changed"].size(),
            24u);
  for (const char* name : {"f.gguf", "f.pt", "f.npz"}) {
    const Outcome other = run({"convert", folder / "m.safetensors", folder / name, "--format", "f32", "--memory-limit", "16M"});
    EXPECT_EQ(other.out, folder / name + ": 24 tensors, 24 of them exact\n") << other.err;
    EXPECT_EQ(run({"diff", folder / "f.safetensors.index.json", folder / name}).code, 0) << name;
  }
}

TEST(Files, Diff) {
  const TestFolder folder;
  const std::string path = sample(folder), other = folder / "o.safetensors";
  EXPECT_EQ(run({"diff", path, path}).code, 0);
  auto b = io::load_safetensors(path).tensors;
  b[0].second = b[0].second.clone();
  b[0].second.view({-1})[7].fill_(100.0);
  b[1].first = "renamed";
  b[2].second = ones({16, 16});
  io::save(other, b);
  const Outcome o = run({"diff", path, other, "--json"});
  EXPECT_EQ(o.code, 1);
  const auto j = o.json();
  EXPECT_EQ(j["missing"], nlohmann::json({"h.weight"}));
  EXPECT_EQ(j["extra"], nlohmann::json({"renamed"}));
  EXPECT_EQ(j["reshaped"][0]["b"], (std::vector<int>{16, 16}));
  ASSERT_EQ(j["changed"].size(), 1u);
  EXPECT_EQ(j["changed"][0]["different"], 1);
  EXPECT_GT(j["changed"][0]["max_abs"], 90);
  EXPECT_NE(run({"diff", path, other}).out.find("missing: h.weight"), std::string::npos);
  EXPECT_EQ(run({"diff", path, folder / "nowhere.safetensors"}).code, 2);
  std::filesystem::resize_file(other, 40);
  EXPECT_EQ(run({"diff", path, other}).code, 2);
}

}  // namespace
}  // namespace dyadic::testing
