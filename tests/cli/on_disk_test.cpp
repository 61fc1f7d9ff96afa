// dyadic generate and dyadic finetune within --memory-limit: weights that stay on disk.
#include <cstdlib>

#include "tests/cli/program.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {
namespace {

using Words = std::vector<std::string>;
Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}
// Of "... the least is 1.2 MiB (1234567 bytes), ...".
int64_t least_in(const std::string& said) {
  const size_t at = said.find('(', said.find("the least is "));
  return at == said.npos ? -1 : std::atoll(said.c_str() + at + 1);
}

// Four layers, large beside what a text takes.
const std::string& deep_model() {
  static const TestFolder folder;
  static const std::string path = [] {
    nlohmann::json c = small_llama_config();
    c["num_hidden_layers"] = 4, c["hidden_size"] = c["intermediate_size"] = 256;
    write_small_model(folder / "deep", c), write_small_tokenizer(folder / "deep");
    return folder / "deep";
  }();
  return path;
}

TEST(OnDisk, GeneratesTheSameInTheLeastMemory) {
  const auto generate = [&](const Words& more) {
    return run(with({"generate", deep_model(), "-p", "Once upon", "--tokens", "8", "--temperature", "0", "--json"}, more));
  };
  const auto whole = generate({});
  const Outcome few = generate({"--memory-limit", "1K"});
  EXPECT_EQ(few.code, 1);
  EXPECT_NE(few.err.find("1 KiB of memory are too few: the least is "), std::string::npos) << few.err;
  const int64_t least = least_in(few.err);
  ASSERT_GT(least, 0) << few.err;
  const Outcome fits = generate({"--memory-limit", std::to_string(least)});
  EXPECT_EQ(fits.code, 0) << fits.err;
  EXPECT_EQ(fits.json()["tokens"], whole.json()["tokens"]);
  EXPECT_NE(fits.err.find("of the weights stay on disk and are read for every token"), std::string::npos) << fits.err;
  EXPECT_EQ(generate({"--memory-limit", std::to_string(least - 1)}).code, 1);
  const Outcome roomy = generate({"--memory-limit", "1G"});
  EXPECT_EQ(roomy.err, "");
  EXPECT_EQ(roomy.json()["tokens"], whole.json()["tokens"]);
}

TEST(OnDisk, WhatIsStoredOtherwiseNeedsAFolder) {
  const TestFolder f;
  const auto generate = [&](const Words& more) {
    return run(with(
        {"generate", deep_model(), "-p", "Once", "--tokens", "8", "--temperature", "0", "--json", "--format", "q8_0"}, more));
  };
  const std::string limit = std::to_string(least_in(generate({"--memory-limit", "1K"}).err));
  const Outcome refused = generate({"--memory-limit", limit});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("give offload_folder, a place for it"), std::string::npos) << refused.err;
  const Outcome o = generate({"--memory-limit", limit, "--offload-folder", f / "off"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.json()["tokens"], generate({}).json()["tokens"]);
}

TEST(OnDisk, FinetunesAnAdapterToTheSameBits) {
  const TestFolder f;
  write_file(f / "text.txt", text_of_file(model_data("gguf.txt")));
  const auto finetune = [&](const std::string& out, const Words& more) {
    return run(with({"finetune", deep_model(), "--data", f / "text.txt", "--lora", "rank=4", "--steps", "3", "--batch", "2",
                     "--context", "16", "--out", f / out, "--json"},
                    more));
  };
  EXPECT_EQ(finetune("whole", {}).code, 0);
  const Outcome few = finetune("few", {"--memory-limit", "1K"});
  EXPECT_EQ(few.code, 1);
  const int64_t least = least_in(few.err);
  ASSERT_GT(least, 0) << few.err;
  const Outcome fits = finetune("fits", {"--memory-limit", std::to_string(least)});
  EXPECT_EQ(fits.code, 0) << fits.err;
  EXPECT_NE(fits.err.find("of the weights stay on disk and are read twice in every step"), std::string::npos) << fits.err;
  EXPECT_LE(fits.json()["predicted_bytes"]["peak"], least);
  EXPECT_GT(fits.json()["repeated_calls"], 0);
  for (const char* file : {"adapter_model.safetensors", "adapter_config.json"})
    EXPECT_EQ(text_of_file(f / "fits/" + file), text_of_file(f / "whole/" + file)) << file;
  EXPECT_EQ(finetune("less", {"--memory-limit", std::to_string(least - 1)}).code, 1);
}

TEST(OnDisk, PlansSayHowMuch) {
  const int64_t least = least_in(run({"generate", deep_model(), "--tokens", "31", "--memory-limit", "1K"}).err);
  const auto plan = [&](int64_t limit) {
    return run(
        {"plan", deep_model(), "--context", "32", "--format", "bf16", "--memory-limit", std::to_string(limit), "--json"});
  };
  const auto j = plan(least).json()["uses"][0];
  EXPECT_EQ(j["fits"], false);
  EXPECT_GT(j["on_disk"], 0);
  EXPECT_EQ(plan(j["bytes"]["peak"].get<int64_t>()).json()["uses"][0]["on_disk"], 0);
  const Outcome text =
      run({"plan", deep_model(), "--context", "32", "--format", "bf16", "--memory-limit", std::to_string(least)});
  EXPECT_NE(text.out.find(" on disk\n"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("would stay on disk, read for every token"), std::string::npos) << text.out;
  EXPECT_EQ(text.code, 0);
}

}  // namespace
}  // namespace dyadic::testing
