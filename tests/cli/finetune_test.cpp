// dyadic finetune: what it says, what it writes, what it refuses.
#include "tests/cli/program.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {
namespace {

std::string chats(const TestFolder& f) {
  std::string all;
  for (const char* who : {"Ada", "Ben", "Cleo", "Dan"})
    for (const char* ask : {"Where is ", "Find ", "Name the town of "})
      all += nlohmann::json{{"messages",
                             {{{"role", "user"}, {"content", ask + std::string(who)}},
                              {{"role", "assistant"}, {"content", "Rome"}}}}}
                 .dump() +
             "\n";
  write_file(f / "chat.jsonl", all);
  return f / "chat.jsonl";
}

TEST(FinetuneCommand, TrainsAnAdapterAndMergesIt) {
  const TestFolder f;
  const std::string out = f / "out";
  const std::vector<std::string> line = {
      "finetune", small_model(), "--data",    chats(f),       "--lora",  "rank=4,targets=q_proj+v_proj",
      "--base",   "nf4",         "--context", "64",           "--steps", "6",
      "--batch",  "2",           "--lr",      "0.01",         "--out",   out,
      "--merge",  "best",        "--json",    "--eval-split", "0.25"};
  const auto j = run(line).json();
  EXPECT_EQ(j["finished"], true);
  EXPECT_EQ(j["samples"], 9);
  EXPECT_LT(j["eval_loss"], j["eval_loss_before"]);
  EXPECT_GT(j["predicted_bytes"]["peak"], j["predicted_bytes"]["parameters"]);
  EXPECT_EQ(j["merges"].size(), 3u);
  EXPECT_EQ(run({"generate", out + "/merged", "-p", "Where is Ada", "--tokens", "3"}).code, 0);
  EXPECT_EQ(run({"convert", out + "/merged", f / "m.gguf"}).code, 0);
  EXPECT_EQ(run({"generate", f / "m.gguf", "-p", "Where is Ada", "--tokens", "3"}).code, 0);
  EXPECT_NE(complaint(run(line), 1).find("holds a run already"), std::string::npos);
}

TEST(FinetuneCommand, SaysWhatItTakesAndWhatBecameOfSamples) {
  const TestFolder f;
  const Outcome o =
      run({"finetune", small_model(), "--data", chats(f), "--base", "f32", "--context", "24", "--steps", "2", "--no-packing"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(o.out.starts_with("it will take ")) << o.out;
  EXPECT_NE(o.out.find("samples were longer than 24 tokens and were "), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("evaluation loss not evaluated"), std::string::npos) << o.out;
}

TEST(FinetuneCommand, Refuses) {
  const TestFolder f;
  const auto words = [&](const std::string& data, std::vector<std::string> more, int code) {
    write_file(f / "bad.jsonl", data);
    std::vector<std::string> line = {"finetune", small_model(), "--data", f / "bad.jsonl", "--json"};
    line.insert(line.end(), more.begin(), more.end());
    return complaint(run(line), code);
  };
  EXPECT_NE(words("{\"text\": \"a b\"}\n{\n", {}, 1).find("bad.jsonl: line 2: it is no JSON"), std::string::npos);
  EXPECT_NE(words("{\"text\": \"a b\"}", {"--base", "nf4"}, 1).find("takes no gradients: give lora"), std::string::npos);
  EXPECT_NE(words("{\"text\": \"a b\"}", {"--lora", "rnk=4"}, 2).find("did you mean rank?"), std::string::npos);
  EXPECT_NE(words("{\"text\": \"a b\"}", {"--merge", "here"}, 2).find("none of none, best"), std::string::npos);
  EXPECT_NE(words("{\"text\": \"a b\"}", {"--resume"}, 1).find("resume goes on with what out"), std::string::npos);
}

}  // namespace
}  // namespace dyadic::testing
