// dyadic prune: what it says, what it writes, what it refuses; zeros that fine-tuning keeps.
#include "dyadic/prune.h"
#include "dyadic/models.h"
#include "tests/cli/program.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {
namespace {

TEST(PruneCommand, WritesAModelThatStaysSparse) {
  const TestFolder f;
  std::string text;
  for (int i = 0; i < 200; ++i) text += "Once upon a time there were " + std::to_string(i * i % 997) + " words.\n";
  write_file(f / "text.txt", text);
  const std::string sparse = f / "sparse", tuned = f / "tuned";
  const auto j = run({"prune", small_model(), "--method", "sparsegpt", "--sparsity", "2:4", "--calibration", f / "text.txt",
                      "--window", "64", "--samples", "8", "--out", sparse, "--json"})
                     .json();
  double error = 0, magnitude = 0;
  for (auto& l : j["layers"]) {
    EXPECT_EQ(l["sparsity"], 0.5);
    error += l["error"].get<double>(), magnitude += l["error_magnitude"].get<double>();
  }
  EXPECT_EQ(j["layers"].size(), 14u);
  EXPECT_LT(error, 0.8 * magnitude);
  const auto zeros = [](const std::string& folder) { return prune::Masks(*models::load(folder, {.dtype = f32})).zeros(); };
  EXPECT_EQ(zeros(sparse), j["zeros"]);
  // All weights, then an adapter that is merged.
  EXPECT_EQ(run({"finetune", sparse, "--base", "f32", "--data", f / "text.txt", "--context", "32", "--steps", "2",
                 "--keep-zeros", "--out", tuned})
                .code,
            0);
  EXPECT_EQ(zeros(tuned), j["zeros"]);
  const auto merged =
      run({"finetune",  sparse, "--base",  "f32", "--lora",       "rank=2",  "--lr", "0.05",  "--data",      f / "text.txt",
           "--context", "32",   "--steps", "2",   "--keep-zeros", "--merge", "best", "--out", f / "adapter", "--json"})
          .json();
  EXPECT_GT(merged["merges"][0]["error"], 0);  // what the adapter added to zeros is lost
  EXPECT_EQ(zeros(f / "adapter/merged"), j["zeros"]);
}

TEST(PruneCommand, SaysThatZerosSaveNothing) {
  const Outcome o = run({"prune", small_model(), "--sparsity", "30%", "--scope", "global"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("zeros are stored like other numbers"), std::string::npos);
  EXPECT_NE(run({"prune", "--list"}).out.find("arXiv:2306.11695"), std::string::npos);
}

TEST(PruneCommand, TakesOutChannelsAndHeads) {
  const TestFolder f;
  const auto j = run({"prune", small_model(), "--channels", "0.34", "--heads", "0.5", "--out", f / "narrow", "--json"}).json();
  EXPECT_LT(j["bytes"], j["bytes_before"]);
  EXPECT_EQ(models::load(f / "narrow")->nbytes(), j["bytes"]);
  EXPECT_EQ(run({"generate", f / "narrow", "-p", "Once", "--tokens", "3"}).code, 0);
  EXPECT_NE(complaint(run({"prune", small_model(), "--channels", "0.01"}), 1).find("nothing would go"), std::string::npos);
}

TEST(PruneCommand, Refuses) {
  const auto words = [](std::vector<std::string> more, int code) {
    more.insert(more.begin(), {"prune", small_model()});
    return complaint(run(more), code);
  };
  EXPECT_NE(words({"--method", "wanda"}, 1).find("needs calibration data"), std::string::npos);
  EXPECT_NE(words({"--sparsity", "2"}, 2).find("not in [0, 1)"), std::string::npos);
  EXPECT_NE(words({"--sparsity", "5:7"}, 1).find("needs rows of a multiple of 7"), std::string::npos);
  EXPECT_NE(complaint(run({"prune"}), 2).find("of which model?"), std::string::npos);
  EXPECT_NE(
      complaint(run({"finetune", small_model(), "--data", text_file(), "--keep-zeros", "--json"}), 1).find("prune it first"),
      std::string::npos);
}

}  // namespace
}  // namespace dyadic::testing
