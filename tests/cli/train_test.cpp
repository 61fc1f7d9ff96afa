// dyadic train and dyadic generate: the same bits after every kind of interruption, nothing lost or overwritten on errors.
#include <algorithm>

#include "base/sha256.h"
#include "tests/cli/program.h"

namespace dyadic::testing {
namespace {

// `more` may name other --data.
std::vector<std::string> train_words(const std::string& out, const std::string& recipe, std::vector<std::string> more) {
  std::vector<std::string> words = {"train", "--preset", "nano", "--recipe", recipe, "--seed", "5", "--out", out};
  if (std::find(more.begin(), more.end(), "--data") == more.end()) words.insert(words.end(), {"--data", text_file()});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}
std::string model_hash(const std::string& folder) { return sha256_file(folder + "/model.safetensors"); }

TEST(Train, WritesAModelAndOneDocument) {
  TestFolder f;
  Outcome o = run(train_words(f / "a", "f32", {"--steps", "30", "--json"}));
  ASSERT_EQ(o.code, 0) << o.err;
  auto j = o.json();
  EXPECT_EQ(j["steps"], 30);
  EXPECT_LT(j["train_loss"].get<double>(), 5);  // uniform bytes: 5.545
  EXPECT_LT(j["val_loss"].get<double>(), 5);
  EXPECT_GT(j["ms_per_step"].get<double>(), 0);
  EXPECT_NEAR(j["tokens_per_s"].get<double>() * j["ms_per_step"].get<double>(), 4 * 32 * 1e3, 1);
  EXPECT_EQ(j["weights_sha256"].get<std::string>().size(), 64u);
  for (const char* key : {"parameters", "gradients", "optimizer", "activations", "workspace", "peak"}) {
    const int64_t measured = j["bytes"][key]["measured"];
    EXPECT_GT(measured, 0) << key;
    EXPECT_EQ(j["bytes"][key]["predicted"], measured) << key;
  }
  EXPECT_TRUE(fs::exists(f / "a/model.safetensors"));
}

TEST(Train, ResumedRunsGiveTheSameFile) {
  for (const char* recipe : {"f32", "bf16", "f16", "pure-bf16", "pure-bf16-sr", "bf16-adam8"}) {
    TestFolder f;
    ASSERT_EQ(run(train_words(f / "whole", recipe, {"--steps", "24"})).code, 0);
    auto words = train_words(f / "broken", recipe, {"--steps", "24", "--checkpoint-every", "10"});
    ASSERT_EQ(run(words, 3).code, 0);
    EXPECT_EQ(model_hash(f / "broken"), model_hash(f / "whole")) << recipe << " with checkpoints, three threads";
    fs::remove(f / "broken/model.safetensors");  // as if the process had died after the checkpoint of step 20
    words.push_back("--resume");
    Outcome o = run(words, 2);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(model_hash(f / "broken"), model_hash(f / "whole")) << recipe << " resumed";
  }
}

TEST(Train, CtrlCWritesACheckpoint) {
  TestFolder f;
  std::vector<std::string> more = {"--steps", "1200", "--checkpoint-every", "20", "--json"};
  Program p(train_words(f / "a", "f32", more));
  for (int i = 0; i < 3000 && !fs::exists(f / "a/checkpoint.safetensors"); ++i) usleep(10'000);
  p.interrupt();
  Outcome o = p.wait();
  ASSERT_EQ(o.code, 130) << o.out << o.err;
  EXPECT_LT(o.json()["steps"].get<int>(), 1200);
  EXPECT_TRUE(o.json()["val_loss"].is_null());
  EXPECT_NE(o.err.find("--resume"), o.err.npos) << o.err;
  EXPECT_FALSE(fs::exists(f / "a/model.safetensors"));
  more.push_back("--resume");
  o = run(train_words(f / "a", "f32", more));
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.json()["steps"], 1200);
  ASSERT_EQ(run(train_words(f / "whole", "f32", {"--steps", "1200"})).code, 0);
  EXPECT_EQ(model_hash(f / "a"), model_hash(f / "whole"));
}

TEST(Train, AFinishedRunIsResumedByDoingNothing) {
  TestFolder f;
  Outcome first = run(train_words(f / "a", "f32", {"--steps", "8", "--json"}));
  std::string before = model_hash(f / "a");
  Outcome again = run(train_words(f / "a", "f32", {"--steps", "8", "--resume", "--json"}));
  EXPECT_EQ(again.code, 0) << again.err;
  for (const char* key : {"steps", "train_loss", "val_loss", "weights_sha256"})
    EXPECT_EQ(again.json()[key], first.json()[key]) << key;
  EXPECT_EQ(model_hash(f / "a"), before);
}

TEST(Train, RefusesBeforeTrainingAndOverwritesNothing) {
  TestFolder f;
  write_file(f / "short.txt", "too short");
  write_file(f / "file", "x");
  auto said = [&](std::vector<std::string> more, const std::string& out) {
    more.insert(more.end(), {"--steps", "4"});
    return complaint(run(train_words(out, "f32", more)), 1);
  };
  EXPECT_NE(said({"--data", f / "missing.txt"}, f / "a").find("missing.txt"), std::string::npos);
  EXPECT_NE(said({"--data", f / "short.txt"}, f / "a").find("token"), std::string::npos);
  EXPECT_FALSE(fs::exists(f / "a"));
  EXPECT_NE(said({}, f / "file/a").find(f / "file/a cannot be written"), std::string::npos);
  EXPECT_EQ(read_file(f / "file"), "x");

  EXPECT_NE(said({"--resume"}, f / "nothere").find("there is no run in"), std::string::npos);
  EXPECT_FALSE(fs::exists(f / "nothere"));
  EXPECT_NE(said({"--memory-limit", "1K"}, f / "small").find("memory"), std::string::npos);
  EXPECT_NE(complaint(run({"study", "--data", text_file(), "--resume", "--out", f / "nothere"}), 1).find("no study in"),
            std::string::npos);

  ASSERT_EQ(run(train_words(f / "b", "f32", {"--steps", "4"})).code, 0);
  std::string before = model_hash(f / "b");
  EXPECT_NE(said({}, f / "b").find("--resume"), std::string::npos);
  std::string other = complaint(run(train_words(f / "b", "bf16", {"--steps", "4", "--resume"})), 1);
  EXPECT_NE(other.find("there recipe f32; here recipe bf16"), other.npos) << other;
  EXPECT_EQ(model_hash(f / "b"), before);
}

TEST(Train, SettingsComeFromTheCommandLineThenTheConfigThenThePreset) {
  TestFolder f;
  write_file(f / "run.json",
             "{\"preset\": \"nanogpt-cpu\", \"steps\": 3, /* small */ \"layers\": 1, \"width\": 16, \"data\": [\"" +
                 text_file() + "\"]}");
  Outcome o = run({"train", "--config", f / "run.json", "--width", "64", "--out", f / "a", "--json", "--width", "32"});
  ASSERT_EQ(o.code, 0) << o.err;
  auto j = o.json()["config"];
  EXPECT_EQ(j["preset"], "nanogpt-cpu");
  EXPECT_EQ(j["steps"], 3);
  EXPECT_EQ(j["layers"], 1);
  EXPECT_EQ(j["width"], 32);
  EXPECT_EQ(j["tokens"], "chars");  // the preset's
  EXPECT_EQ(j["bias"], false);
  EXPECT_EQ(j["weight-decay"], 0.1);
  EXPECT_EQ(run({"generate", "--model", f / "a", "--tokens", "3"}).code, 0);  // without biases

  write_file(f / "again.json", j.dump());  // what a run prints is a config
  o = run({"train", "--config", f / "again.json", "--out", f / "b", "--json"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.json()["config"], j);
  EXPECT_EQ(model_hash(f / "a"), model_hash(f / "b"));
}

TEST(Train, ConfigsInToml) {
  TestFolder f;
  const std::string data = text_file();
  write_file(f / "run.json",
             "{\"preset\": \"nanogpt-cpu\", \"steps\": 3, \"layers\": 1, \"width\": 16, \"lr\": 2e-3, \"data\": [\"" + data +
                 "\"], \"bias\": true}");
  write_file(f / "run.toml",
             "# small\npreset = \"nanogpt-cpu\"\nsteps = 3  # three\nlayers=1\nwidth = 16\nlr = 2e-3\ndata = [\"" + data +
                 "\"]\nbias = true\n");
  const Outcome a = run({"train", "--config", f / "run.json", "--out", f / "a", "--json"});
  const Outcome b = run({"train", "--config", f / "run.toml", "--out", f / "b", "--json"});
  ASSERT_EQ(b.code, 0) << b.err;
  EXPECT_EQ(a.json()["config"], b.json()["config"]);
  EXPECT_EQ(model_hash(f / "a"), model_hash(f / "b"));
}

TEST(Train, ConfigsThatAreRefused) {
  TestFolder f;
  auto said = [&](const std::string& text) {
    write_file(f / "run.json", text);
    std::string line = complaint(run({"train", "--config", f / "run.json", "--out", f / "a"}), 2);
    const std::string tag = "train: --config " + (f / "run.json") + ": ";
    EXPECT_TRUE(line.starts_with(tag)) << line;
    return line.substr(std::min(line.size(), tag.size()));
  };
  EXPECT_TRUE(
      said(R"({"stepz": 3})").starts_with("unknown key \"stepz\"; did you mean steps? the known ones are preset, recipe"));
  EXPECT_EQ(said(R"({"steps": 0})"), "--steps: 0 is less than 1");
  EXPECT_EQ(said(R"({"steps": "many"})"), "--steps: many is not a whole number");
  EXPECT_EQ(said(R"({"bias": "perhaps"})"), "Could not convert: --bias = perhaps");
  EXPECT_EQ(said("[1]"), "not a JSON object: write {\"steps\": 1000, ...}");
  EXPECT_TRUE(said("stepz = 3\n").starts_with("unknown key \"stepz\"; did you mean steps?"));
  EXPECT_EQ(said("steps = \"many\"\n"), "--steps: many is not a whole number");
  EXPECT_EQ(said("[model]\nsteps = 3\n"), "a table, [model]: options stand alone, steps = 1000");
  EXPECT_TRUE(said("{\"steps\": }").starts_with("not JSON: parse error at line 1, column 11"));
  EXPECT_EQ(said(R"({"steps": [3, 4]})"), "--steps: it takes 1 value, not 2");
  EXPECT_NE(complaint(run({"train", "--config", f / "none"}), 2).find("No such file"), std::string::npos);
  EXPECT_FALSE(fs::exists(f / "a"));
}

TEST(Train, EndsWithACheckpointWhenTheTimeIsUp) {
  TestFolder f;
  Outcome o = run(train_words(f / "a", "f32", {"--steps", "200000", "--time", "0.3s", "--json"}));
  EXPECT_EQ(o.code, 130);
  EXPECT_NE(o.err.find("time is up after step"), o.err.npos) << o.err;
  EXPECT_LT(o.json()["steps"].get<int>(), 200000);
  EXPECT_TRUE(fs::exists(f / "a/checkpoint.safetensors"));
}

TEST(Train, ThePureRecipesShowWhatRoundingLost) {
  TestFolder f;
  auto lost = [&](const std::string& recipe) {
    Outcome o = run(train_words(f / recipe, recipe, {"--steps", "20", "--json"}));
    EXPECT_EQ(o.code, 0) << o.err;
    return o.json()["lost_updates"].get<double>();
  };
  EXPECT_LT(lost("f32"), 0.001);
  EXPECT_GT(lost("pure-bf16"), 0.01);
  Outcome text = run(train_words(f / "text", "pure-bf16", {"--steps", "20"}));
  EXPECT_NE(text.out.find(" % of updates lost to rounding"), text.out.npos) << text.out;
}

TEST(Train, DamagedAndForeignCheckpoints) {
  TestFolder f;
  std::vector<std::string> more = {"--steps", "8", "--checkpoint-every", "5"};
  ASSERT_EQ(run(train_words(f / "a", "f32", more)).code, 0);
  std::string model = model_hash(f / "a"), checkpoint = f / "a/checkpoint.safetensors", good = read_file(checkpoint);
  more.push_back("--resume");
  std::string other = complaint(run(train_words(f / "a", "pure-bf16", more)), 1);
  EXPECT_NE(other.find("there recipe f32; here recipe pure-bf16"), other.npos) << other;
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  for (const std::string& bad : {good.substr(0, good.size() / 2), flipped, std::string()}) {
    write_file(checkpoint, bad);
    std::string text = complaint(run(train_words(f / "a", "f32", more)), 1);
    EXPECT_NE(text.find(checkpoint), text.npos) << text;
    EXPECT_NE(text.find("delete it"), text.npos) << text;
    EXPECT_EQ(read_file(checkpoint), bad);
  }
  EXPECT_EQ(model_hash(f / "a"), model);
}

class Generate : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TestFolder;
    write_file(*folder_ / "text", [] {
      std::string text;
      for (int i = 0; i < 400; ++i) text += "abcdefgh\n";
      return text;
    }());
    ASSERT_EQ(run({"train", "--preset", "nano", "--data", *folder_ / "text", "--tokens", "chars", "--steps", "150", "--out",
                   *folder_ / "m"})
                  .code,
              0);
  }
  static void TearDownTestSuite() { delete folder_; }
  static Outcome write(std::vector<std::string> more) {
    std::vector<std::string> words = {"generate", "--model", *folder_ / "m"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  static TestFolder* folder_;
};
TestFolder* Generate::folder_ = nullptr;

TEST_F(Generate, GoesOnWithWhatItLearned) {
  Outcome o = write({"--prompt", "abc", "--tokens", "60", "--temperature", "0"});  // longer than the window of 32
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out.substr(0, 36), "abcdefgh\nabcdefgh\nabcdefgh\nabcdefgh\n");
  EXPECT_EQ(o.out.size(), 3 + 60 + 1u);
  EXPECT_EQ(write({"--prompt", "abc", "--tokens", "60", "--top-k", "1", "--seed", "9"}).out, o.out);
}

// What dyadic train leaves, all other commands take.
TEST_F(Generate, AndEverythingElseReadsTheFolder) {
  const std::string model = *folder_ / "m", small = *folder_ / "small", text = *folder_ / "text";
  EXPECT_EQ(run({"inspect", model, "--json"}).json()["architecture"], "GPT2LMHeadModel");
  EXPECT_EQ(run({"quantize", model, "--format", "i8(row)", "--out", small}).code, 0);
  const auto nll = [&](const std::string& m) {
    const Outcome o = run({"eval", m, "--data", text, "--window", "32", "--json"});
    EXPECT_EQ(o.code, 0) << o.err;
    return o.json()["nll"].get<double>();
  };
  EXPECT_LT(nll(model), 0.5);
  EXPECT_NEAR(nll(small), nll(model), 0.05);
  EXPECT_EQ(run({"generate", small, "-p", "abc", "--tokens", "9", "--temperature", "0"}).out, "abcdefgh\nabc\n");
  EXPECT_EQ(write({"-p", "abc", "--tokens", "9", "--temperature", "0", "--stop", "f"}).out, "abcde\n");
}

TEST_F(Generate, TheSeedDecides) {
  auto text = [](const char* seed) {
    Outcome o = write({"--tokens", "80", "--temperature", "5", "--seed", seed, "--json"});
    EXPECT_EQ(o.code, 0) << o.err;
    auto j = o.json();
    EXPECT_EQ(j["tokens"].size(), 80u);
    EXPECT_EQ(j["text"].get<std::string>().size(), 80u);
    return j["text"].get<std::string>();
  };
  EXPECT_EQ(text("1"), text("1"));
  EXPECT_NE(text("1"), text("2"));
}

TEST_F(Generate, BadInput) {
  EXPECT_NE(complaint(write({"--prompt", "abX"}), 1).find("X"), std::string::npos);
  EXPECT_NE(complaint(run({"generate", "--model", *folder_ / "nothing"}), 1).find("nothing"), std::string::npos);
  std::string text = complaint(run({"generate", "--model", *folder_ / "text"}), 1);
  EXPECT_NE(text.find(*folder_ / "text"), text.npos) << text;
  complaint(write({"--top-p", "1.5"}), 2);
}

}  // namespace
}  // namespace dyadic::testing
