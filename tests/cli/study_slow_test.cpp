// dyadic study: the whole of it on the smallest model, its files, its resuming, its refusals.
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/sha256.h"
#include "formats/format.h"
#include "tests/cli/program.h"

namespace dyadic::testing {
namespace {

std::vector<std::string> study_words(const std::string& out, std::vector<std::string> more) {
  std::vector<std::string> words = {"study", "--preset", "nano", "--data", text_file(), "--out", out, "--seed", "3"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}
nlohmann::json report(const std::string& folder) { return nlohmann::json::parse(read_file(folder + "/report.json")); }

// name -> weights_sha256
std::map<std::string, std::string> weights(const nlohmann::json& report) {
  std::map<std::string, std::string> w;
  for (const auto& r : report["recipes"]) w[r["name"]] = r["weights_sha256"].is_null() ? "" : r["weights_sha256"];
  return w;
}

TEST(Study, EverythingByDefault) {
  TestFolder f;
  Outcome o = run(study_words(f / "a", {"--steps", "40", "--json"}), 2);
  ASSERT_EQ(o.code, 0) << o.err;
  nlohmann::json j = o.json();
  EXPECT_EQ(j, report(f / "a"));
  std::vector<std::string> recipes;
  for (const auto& r : j["recipes"]) {
    recipes.push_back(r["name"]);
    const std::string name = r["name"];
    EXPECT_LT(r["val_loss"].get<double>(), 5.3) << name;  // uniform bytes: 5.545
    EXPECT_GT(r["step_ms"].get<double>(), 0) << name;
    EXPECT_GT(r["flops_per_s"].get<double>(), 0) << name;
    EXPECT_EQ(r["weights_sha256"].get<std::string>().size(), 64u) << name;
    for (const char* key : {"parameters", "gradients", "optimizer", "activations", "workspace", "peak"})
      EXPECT_EQ(r["bytes"][key]["predicted"], r["bytes"][key]["measured"]) << name << " " << key;
  }
  EXPECT_EQ(recipes, (std::vector<std::string>{"f32", "bf16", "f16", "pure-bf16", "pure-bf16-sr", "bf16-adam8"}));
  std::set<std::string> formats;
  for (const auto& row : j["formats"]) formats.insert(row["name"].get<std::string>());
  for (const char* name : {"f32", "bf16", "nf4(block=64,double)", "q8_0", "q4_1", "iq4_nl", "mxfp4"})
    EXPECT_TRUE(formats.contains(name)) << name;
  for (DType d : registered_dtypes()) {  // the model's rows are 32 and 128 long
    const bool stores = d.format()->can_encode() && d.format()->row_step() <= 32;
    EXPECT_TRUE(stores || !formats.contains(d.name())) << d.name();
  }
  for (const auto& row : j["formats"]) {
    const std::string name = row["name"];
    EXPECT_GT(row["tokens_per_s"].get<double>(), 0) << name;
    EXPECT_GE(row["kl"].get<double>(), 0) << name;
    EXPECT_LE(row["top1_agreement"].get<double>(), 1) << name;
    EXPECT_GE(row["bits_per_weight"].get<double>(), 1) << name;
  }
  EXPECT_FALSE(j["recommendation"]["why"].get<std::string>().empty());
  EXPECT_GT(j["corpus"]["unigram_nats"].get<double>(), 1);
  EXPECT_EQ(j["corpus"]["sha256"].get<std::string>().size(), 64u);
  const std::string html = read_file(f / "a/report.html");
  EXPECT_NE(html.find("<svg"), html.npos);
  EXPECT_EQ(html.find("src=\"http"), html.npos);
  EXPECT_TRUE(fs::exists(f / "a/model.safetensors"));
}

TEST(Study, ResumedGivesTheSameBits) {
  TestFolder f;
  const std::vector<std::string> more = {"--steps",  "250",        "--recipe", "f16", "--recipe", "pure-bf16-sr",
                                         "--recipe", "bf16-adam8", "--format", "nf4", "--json"};
  Outcome whole = run(study_words(f / "whole", more), 2);
  ASSERT_EQ(whole.code, 0) << whole.err;
  Program p(study_words(f / "a", more));
  for (int i = 0; i < 6000 && !fs::exists(f / "a/report.json"); ++i) usleep(5'000);
  usleep(100'000);
  p.interrupt();
  Outcome o = p.wait();
  ASSERT_EQ(o.code, 130) << o.out << o.err;
  EXPECT_EQ(o.json(), report(f / "a"));  // the report so far
  EXPECT_NE(o.err.find("--resume"), o.err.npos) << o.err;
  // Without --resume nothing of it is touched.
  const std::string before = read_file(f / "a/report.json");
  EXPECT_NE(complaint(run(study_words(f / "a", more)), 1).find("--resume"), std::string::npos);
  EXPECT_EQ(read_file(f / "a/report.json"), before);
  auto again = more;
  again.push_back("--resume");
  o = run(study_words(f / "a", again), 3);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(weights(o.json()), weights(whole.json()));
  EXPECT_EQ(o.json()["recipes"].size(), 4u);  // and f32, the reference
  EXPECT_EQ(sha256_file(f / "a/model.safetensors"), sha256_file(f / "whole/model.safetensors"));
  for (const auto& [name, hash] : weights(whole.json())) EXPECT_EQ(hash.size(), 64u) << name;
}

TEST(Study, TimeIsTurnedIntoStepsOnce) {
  TestFolder f;
  const std::vector<std::string> more = {"--time", "3s", "--recipe", "bf16", "--format", "q4_0", "--json"};
  Program p(study_words(f / "a", more));
  // The first report is written when f32 has been trained, a second of bf16's training before the end.
  for (int i = 0; i < 6000 && !fs::exists(f / "a/report.json"); ++i) usleep(5'000);
  p.interrupt();
  Outcome o = p.wait();
  ASSERT_EQ(o.code, 130) << o.err;
  const auto steps = o.json()["model"]["steps"];
  auto again = more;
  again.push_back("--resume");
  o = run(study_words(f / "a", again));
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.json()["model"]["steps"], steps);
}

TEST(Study, RefusesBeforeTrainingAndOverwritesNothing) {
  TestFolder f;
  write_file(f / "short.txt", "too short");
  write_file(f / "file", "x");
  auto said = [&](const std::string& out, std::vector<std::string> more, int code) {
    std::vector<std::string> words = {"study", "--preset", "nano", "--steps", "4", "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    return complaint(run(words), code);
  };
  EXPECT_NE(said(f / "a", {"--data", f / "missing.txt"}, 1).find("missing.txt"), std::string::npos);
  EXPECT_NE(said(f / "a", {"--data", f / "short.txt"}, 1).find("token"), std::string::npos);
  EXPECT_NE(said(f / "file/a", {"--data", text_file()}, 1).find("cannot be written"), std::string::npos);
  EXPECT_NE(said(f / "a", {"--recipe", "bf17"}, 2).find("pure-bf16-sr"), std::string::npos);
  EXPECT_NE(said(f / "a", {"--format", "nf5"}, 2).find("nf4"), std::string::npos);
  EXPECT_NE(said(f / "a", {"--format", "q4_K"}, 1).find("rows are whole blocks of 256"), std::string::npos);
  EXPECT_NE(said(f / "a", {"--format", "iq2_xs"}, 2).find("use q2_K"), std::string::npos);
  EXPECT_NE(said(f / "a", {"--preset", "huge"}, 2).find("gpt2s"), std::string::npos);
  EXPECT_FALSE(fs::exists(f / "a"));
  EXPECT_EQ(read_file(f / "file"), "x");
}

TEST(Study, ADamagedCheckpointIsNamed) {
  TestFolder f;
  const std::vector<std::string> more = {"--steps", "4000", "--format", "nf4"};
  Program p(study_words(f / "a", more));
  const auto checkpoints = [&] {
    std::vector<fs::path> found;
    if (fs::exists(f / "a/checkpoints"))
      for (const auto& e : fs::directory_iterator(f / "a/checkpoints")) found.push_back(e.path());
    return found;
  };
  for (int i = 0; i < 400; ++i) usleep(1'000);
  p.interrupt();
  ASSERT_EQ(p.wait().code, 130);
  ASSERT_FALSE(checkpoints().empty());
  auto again = more;
  again.push_back("--resume");
  for (const fs::path& path : checkpoints()) {
    const std::string good = read_file(path);
    for (const std::string& bad : {good.substr(0, good.size() / 2), std::string()}) {
      write_file(path, bad);
      const std::string text = complaint(run(study_words(f / "a", again)), 1);
      EXPECT_NE(text.find(path.native()), text.npos) << text;
      EXPECT_EQ(read_file(path), bad);
    }
    write_file(path, good);
  }
}

}  // namespace
}  // namespace dyadic::testing
