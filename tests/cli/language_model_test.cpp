// dyadic generate and dyadic eval with a language model's folder.
#include "dyadic/eval.h"
#include "dyadic/text_generation.h"
#include "tests/cli/program.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {
namespace {

using namespace models;

TEST(GenerateText, IsTheLibrarys) {
  const Tokenizer t = Tokenizer::load(small_model());
  const Model m = models::load(small_model());
  const GeneratedText want = generate_text(*m, t, "Once upon", {.generate = {.max_new_tokens = 12}});
  const auto j = run({"generate", small_model(), "-p", "Once upon", "--tokens", "12", "--temperature", "0", "--json"}).json();
  EXPECT_EQ(j["tokens"], nlohmann::json(want.tokens));
  EXPECT_EQ(j["finish_reason"], want.finish_reason);
  EXPECT_EQ(j["prompt_tokens"], want.prompt_tokens);
  EXPECT_GT(j["tokens_per_s"], 0);
  const Outcome o = run({"generate", "--model", small_model(), "--prompt", "Once upon", "--tokens", "12", "--top-k", "1"});
  EXPECT_EQ(o.out, "Once upon" + want.text + "\n");
  EXPECT_EQ(o.err, "");
  const auto drawn = [](const char* seed) {
    return run({"generate", small_model(), "-p", "A", "--temperature", "2", "--tokens", "9", "--eos", "none", "--seed", seed,
                "--json"})
        .json()["tokens"];
  };
  EXPECT_EQ(drawn("1").size(), 9u);
  EXPECT_EQ(drawn("1"), drawn("1"));
  EXPECT_NE(drawn("1"), drawn("2"));
  EXPECT_EQ(run({"generate", small_model(), "--tokens", "3", "--json"}).code, 0);  // of no prompt
}

TEST(GenerateText, AFolderWithoutAModelIsNamedWithWhatWasExpected) {
  const TestFolder f;
  const std::string folder = f / "empty",
                    said = folder +
                           ": there is no model in this folder: expected config.json with weights (model.safetensors, or its "
                           "index) and tokenizer.json, or a .gguf file";
  fs::create_directories(folder);
  write_file(f / "text.txt", "text");
  const Outcome generated = run({"generate", folder, "-p", "x"});
  EXPECT_EQ(generated.code, 1);
  EXPECT_EQ(generated.err, "dyadic: " + said + ", or the model.safetensors that dyadic train writes\n");
  EXPECT_EQ(run({"eval", folder, "--data", f / "text.txt"}).err, "dyadic: " + said + "\n");
  EXPECT_NE(run({"generate", f / "none", "-p", "x"}).err.find("No such file"), std::string::npos);
}

TEST(BenchIo, HasARowForEachKindOfTokenizer) {
  const auto rows = run({"bench", "io", "--size", "1M", "--runs", "1", "--json"}).json()["rows"];
  int64_t tokenizing = 0;
  for (const auto& row : rows) {
    if (!row["case"].get<std::string>().starts_with("tokenize, ")) continue;
    ++tokenizing;
    EXPECT_EQ(row["unit"], "MB/s");
    EXPECT_NEAR(row["rate"].get<double>() * row["ms_min"].get<double>(), 1000, 1) << row["case"];
  }
  EXPECT_EQ(tokenizing, 6);
}

TEST(GenerateText, OfAGgufFile) {
  const TestFolder f;
  const std::string file = f / "small.gguf";
  const auto converted = run({"convert", small_model(), file, "--json"}).json();
  EXPECT_EQ(converted["tensors"].size(), 21u);
  for (const auto& t : converted["tensors"]) EXPECT_EQ(t["exact"], true) << t["name"];
  const auto said = [](const std::string& model) {
    return run({"generate", model, "-p", "Once upon", "--tokens", "12", "--temperature", "0", "--format", "f32", "--json"})
        .json()["text"];
  };
  EXPECT_EQ(said(file), said(small_model()));
  write_file(f / "text.txt", text_of_file(model_data("gguf.txt")));
  const auto measured = [&](const std::string& model) {
    return run({"eval", model, "--data", f / "text.txt", "--window", "64", "--format", "f32", "--json"}).json()["perplexity"];
  };
  EXPECT_EQ(measured(file), measured(small_model()));
  EXPECT_EQ(run({"convert", file, f / "back"}).code, 0);
  EXPECT_EQ(said(f / "back"), said(small_model()));
}

TEST(GenerateText, BatchesAndChats) {
  const TestFolder f;
  write_file(f / "p.txt", "Once\nUpon a time\n\nThe 3\n");
  const auto j = run({"generate", small_model(), "--batch", f / "p.txt", "--tokens", "5", "--json"}).json();
  ASSERT_EQ(j["results"].size(), 3u);
  EXPECT_EQ(j["results"][1]["prompt"], "Upon a time");
  write_file(f / "p.jsonl", R"({"id": 7, "messages": [{"role": "user", "content": "Hi"}]})");
  const Outcome lines = run({"generate", small_model(), "--batch", f / "p.jsonl", "--tokens", "5"});
  EXPECT_EQ(nlohmann::json::parse(lines.out)["id"], 7);
  for (const std::string& line :
       {std::string("{}"), "{\"messages\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}"}) {
    write_file(f / "bad.jsonl", line + "\n");
    EXPECT_EQ(complaint(run({"generate", small_model(), "--batch", f / "bad.jsonl"}), 1),
              f / "bad.jsonl" + ": line 1: expected {\"prompt\": TEXT} or {\"messages\": [...]}");
  }
  const auto chat =
      run({"generate", small_model(), "--chat", "-p", "Hi", "--temperature", "0", "--tokens", "6", "--json"}).json();
  Model m = models::load(small_model());
  Chat want(*m, Tokenizer::load(small_model()), {.generate = {.max_new_tokens = 6}});
  ASSERT_EQ(chat["turns"].size(), 1u);
  EXPECT_EQ(chat["turns"][0]["tokens"], nlohmann::json(want.say("Hi").tokens));
  EXPECT_EQ(run({"generate", small_model(), "--chat", "--json"}).json()["turns"].size(), 0u);  // no line of input
  EXPECT_NE(complaint(run({"generate", small_model(), "--system", "x"}), 2).find("add --chat"), std::string::npos);
  EXPECT_NE(complaint(run({"generate", small_model(), "--eos", "<none>"}), 2).find("no token"), std::string::npos);
}

TEST(EvalCommand, IsTheLibrarys) {
  const TestFolder f;
  std::string text;
  for (int i = 0; i < 90; ++i) text += "word " + std::to_string(i * i % 997) + "\n";
  write_file(f / "t", text);
  const auto j = run({"eval", small_model(), "--data", f / "t", "--window", "64", "--format", "f32", "--json"}).json();
  const Model m = models::load(small_model(), {.dtype = f32});
  text.pop_back();
  const Perplexity want = perplexity(*m, Tokenizer::load(small_model()), text, {.window = 64});
  EXPECT_NEAR(j["perplexity"].get<double>(), want.perplexity, 1e-5 * want.perplexity);
  EXPECT_EQ(j["tokens"], want.tokens);
  EXPECT_EQ(j["stride"], 0);
  EXPECT_FALSE(j.contains("kl_mean"));
  const auto k = run({"eval", small_model(), "--data", f / "t", "--window", "64", "--stride", "32", "--format", "i4(group=32)",
                      "--base", small_model(), "--json"})
                     .json();
  EXPECT_GT(k["kl_p99"], k["kl_mean"]);
  EXPECT_GT(k["rms_dp"], 0);
  EXPECT_LE(k["same_top"], 1);
  const auto kept = run({"eval", small_model(), "--data", f / "t", "--window", "64", "--format", "f32", "--kv",
                         "i4(group=16):q8_0", "--base", small_model(), "--json"});
  EXPECT_NE(complaint(kept, 1).find("values of 16 numbers a head do not fit q8_0"), std::string::npos);
  const auto narrow = run({"eval", small_model(), "--data", f / "t", "--window", "64", "--format", "f32", "--kv",
                           "i4(group=16):i8(row)", "--base", small_model(), "--json"})
                          .json();
  EXPECT_GT(narrow["kl_mean"], 1e-6);  // the weights are the same
  EXPECT_LT(narrow["kl_mean"], .5);
  EXPECT_NE(complaint(run({"eval", small_model(), "--data", f / "t", "--kv", "i8"}), 2).find("it has no scales"),
            std::string::npos);
  EXPECT_NE(complaint(run({"eval", small_model(), "--data", f / "t", "--window", "511"}), 1).find("need 1022 at least"),
            std::string::npos);
  write_file(f / "q.jsonl", R"({"context": "Once", "choices": ["upon", "no"], "answer": 0})");
  EXPECT_EQ(run({"eval", small_model(), "--task", f / "q.jsonl", "--json"}).json()["log_probabilities"][0].size(), 2u);
  EXPECT_NE(run({"eval", small_model(), "--task", f / "q.jsonl"}).out.find("acc_norm"), std::string::npos);
  complaint(run({"eval", small_model()}), 2);
}

TEST(StudyOfAModel, ComparesFormatsAndMethods) {
  TestFolder f;
  const auto words = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"study", small_model(), "--window", "16", "--samples", "6", "--out", f / "s", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const std::vector<std::string> what = {"--format", "q8_0", "--format", "i4(row)", "--method", "gptq", "--per-layer"};
  const Outcome o = words(what);
  ASSERT_EQ(o.code, 0) << o.err;
  const auto j = o.json();
  EXPECT_EQ(j["model"]["item"], "token");
  EXPECT_EQ(j["formats"].size(), 5u);
  for (const char* name : {"f32", "q8_0", "i4(row)", "q8_0, gptq", "i4(row), gptq"})
    EXPECT_EQ(std::count_if(j["formats"].begin(), j["formats"].end(), [&](auto& r) { return r["name"] == name; }), 1) << name;
  for (auto& r : j["formats"]) {
    EXPECT_EQ(r["status"], "done");
    EXPECT_LE(r["kl"].template get<double>(), r["bits_per_weight"].template get<double>() > 8 ? 1e-2 : 10.0) << r.dump();
  }
  EXPECT_TRUE(std::filesystem::exists(f / "s/report.html"));
  const auto same = [](nlohmann::json a) {
    for (auto& r : a["formats"]) r.erase("tokens_per_s");
    return a["formats"];
  };
  std::vector<std::string> again = what;
  EXPECT_NE(complaint(words(what), 1).find("already holds a report"), std::string::npos);
  again.push_back("--resume");
  const Outcome resumed = words(again);  // all is there
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(same(resumed.json()), same(j));
  EXPECT_NE(complaint(words({"--format", "q8_0", "--resume"}), 1).find("another model, text or formats"), std::string::npos);
}

TEST(StudyOfAModel, RefusesBeforeItBegins) {
  TestFolder f;
  const auto said = [&](std::vector<std::string> more, int code) {
    std::vector<std::string> all = {"study", small_model(), "--out", f / "s"};
    all.insert(all.end(), more.begin(), more.end());
    return complaint(run(all), code);
  };
  EXPECT_NE(said({"--preset", "nano"}, 2).find("is not trained"), std::string::npos);
  EXPECT_NE(said({"--seeds", "3"}, 2).find("is not trained"), std::string::npos);
  EXPECT_NE(said({"--method", "gptq"}, 1).find("name the formats too"), std::string::npos);
  EXPECT_NE(said({"--method", "ldlq", "--format", "q4_0"}, 1).find("serves none of the formats"), std::string::npos);
  write_file(f / "short.txt", "few words");
  EXPECT_NE(said({"--data", f / "short.txt"}, 1).find("tokens; two windows of 256"), std::string::npos);
  EXPECT_NE(complaint(run({"study", "--method", "gptq"}), 2).find("dyadic study MODEL"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(f / "s"));
}

// What is predicted for making text is what it takes, to the byte.
TEST(PlanOfAModel, IsWhatGenerationTakes) {
  for (const char* format : {"bf16", "f32", "i4(row)", "nf4(block=64)"})
    for (const char* kv : {"", "i8(row)"}) {
      std::vector<std::string> words = {"plan", small_model(), "--context", "40", "--batch", "2", "--format", format, "--json"};
      if (*kv) words.insert(words.end(), {"--kv", kv});
      const Outcome o = run(words, num_threads());
      ASSERT_EQ(o.code, 0) << o.err;
      const auto uses = o.json()["uses"];
      ASSERT_EQ(uses[0]["what"], "generate");
      const NoGrad guard;
      const MemoryStats before = memory_stats();
      const models::Model m = models::load(small_model(), {.dtype = DType::parse(format)});
      Cache cache(40, *kv ? KvFormats::parse(kv) : KvFormats());
      const Tensor ids = zeros({2, 40}, i64);
      reset_peak_memory_stats();
      cache.expect(40);
      m->read(ids, cache);
      EXPECT_EQ(uses[0]["bytes"]["weights"], m->nbytes()) << format;
      EXPECT_EQ(uses[0]["bytes"]["cache"], cache.nbytes()) << format << kv;
      EXPECT_EQ(uses[0]["bytes"]["peak"], memory_stats().total_peak - before.total) << format << kv;
    }
}

TEST(PlanOfAModel, SaysWhatFits) {
  const auto j = run({"plan", small_model(), "--context", "32", "--memory-limit", "100G", "--json"}).json();
  EXPECT_EQ(j["fits"], true);
  EXPECT_GT(j["uses"].size(), 4u);
  for (const char* what : {"generate", "finetune"})
    EXPECT_TRUE(
        std::any_of(j["uses"].begin(), j["uses"].end(), [&](auto& u) { return u["what"] == what && u["format"] == "bf16"; }));
  const Outcome none = run({"plan", small_model(), "--context", "32", "--memory-limit", "10K"});
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.out.find("nothing fits into 10 KiB"), std::string::npos) << none.out;
  EXPECT_NE(complaint(run({"plan", small_model(), "--preset", "nano"}), 2).find("--preset"), std::string::npos);
  EXPECT_NE(complaint(run({"plan", "--kv", "q8_0"}), 2).find("dyadic plan MODEL"), std::string::npos);
}

TEST(BenchOfAModel, HasPromptAndDecode) {
  const auto j = run({"bench", "quant", "--model", small_model(), "--format", "f32", "i8(row)", "--prompt", "8", "--tokens",
                      "4", "--runs", "1", "--json"})
                     .json();
  ASSERT_EQ(j["rows"].size(), 4u);
  for (auto& row : j["rows"]) EXPECT_GT(row["rate"].template get<double>(), 0) << row.dump();
  EXPECT_EQ(j["rows"][3]["case"], "decode");
  EXPECT_EQ(j["rows"][3]["unit"], "tokens/s");
}

}  // namespace
}  // namespace dyadic::testing
