// dyadic quantize: what it says, what it writes, what it refuses.
#include "dyadic/models.h"
#include "tests/cli/program.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {
namespace {

std::string some_text(const TestFolder& f) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "Once upon a time there were " + std::to_string(i * i % 997) + " words.\n";
  write_file(f / "text", text);
  return f / "text";
}

TEST(QuantizeCommand, WritesAModelThatLoads) {
  const TestFolder f;
  const std::string text = some_text(f), out = f / "small";
  const auto j =
      run({"quantize", small_model(), "--method", "gptq", "--format", "i4(group=32)", "--calibration", text, "--window", "64",
           "--samples", "8", "--option", "damping=0.05", "--exclude", "lm_head.*", "--out", out, "--json"})
          .json();
  EXPECT_EQ(j["method"], "gptq");
  size_t chosen = 0;
  double error = 0, error_rtn = 0;
  for (auto& l : j["layers"]) {
    EXPECT_EQ(l["format"], "i4(group=32)");
    if (l["fallback"] != "") continue;
    ++chosen, error += l["error"].get<double>(), error_rtn += l["error_rtn"].get<double>();
  }
  EXPECT_GE(chosen, j["layers"].size() - 1);  // all but the embedding
  EXPECT_LT(error, 0.9 * error_rtn);
  EXPECT_LT(j["bytes_after"], j["bytes_before"]);
  EXPECT_GE(j["peak_bytes"], j["bytes_before"]);
  const models::Model m = models::load(out);
  EXPECT_EQ(m->nbytes(), j["bytes_after"]);
  const auto e = run({"eval", out, "--data", text, "--window", "64", "--base", small_model(), "--json"}).json();
  EXPECT_LT(e["kl_mean"].get<double>(), 1);
  EXPECT_EQ(run({"generate", out, "-p", "Once", "--tokens", "3"}).code, 0);
}

TEST(QuantizeCommand, WritesAndReadsImportance) {
  const TestFolder f;
  const std::string text = some_text(f), file = f / "imatrix.gguf";
  EXPECT_EQ(
      run({"quantize", small_model(), "--calibration", text, "--window", "64", "--samples", "4", "--save-imatrix", file}).out,
      file + "\n");
  const auto j =
      run({"quantize", small_model(), "--method", "imatrix", "--imatrix", file, "--format", "q4_0", "--json"}).json();
  for (auto& l : j["layers"]) EXPECT_LE(l["error"].get<double>(), l["error_rtn"].get<double>()) << l["name"];
  EXPECT_NE(complaint(run({"quantize", small_model(), "--save-imatrix", file}), 2).find("give --calibration"),
            std::string::npos);
  EXPECT_NE(complaint(run({"quantize", small_model(), "--format", "q4_0", "--imatrix", file}), 1).find("is for imatrix"),
            std::string::npos);
}

TEST(QuantizeCommand, RotatesFirst) {
  const TestFolder f;
  const std::string text = some_text(f), out = f / "rotated";
  EXPECT_EQ(run({"quantize", small_model(), "--rotate", "--format", "i8(row)", "--out", out}).code, 0);
  const auto kl = [&](const std::string& model) {
    return run({"eval", model, "--data", text, "--window", "64", "--base", small_model(), "--json"}).json()["kl_mean"];
  };
  EXPECT_LT(kl(out), 0.01);
  EXPECT_NE(models::load(out)->named_parameters()["model.norm.weight"].to(f32)[0].item(),
            models::load(small_model())->named_parameters()["model.norm.weight"].to(f32)[0].item());
}

TEST(QuantizeCommand, FitsABudget) {
  const TestFolder f;
  const std::string text = some_text(f);
  const auto j = run({"quantize", small_model(), "--size", "9bpw", "--calibration", text, "--window", "64", "--json"}).json();
  EXPECT_LE(j["bits_per_weight"].get<double>(), 9);
  EXPECT_GT(j["curve"].size(), 2u);
  EXPECT_EQ(j["curve"].back()["bytes"], j["bytes_after"]);
  const Outcome o = run({"quantize", small_model(), "--size", "9bpw", "--formats", "i4(group=32)", "i8(row)"});
  EXPECT_NE(o.out.find("will take"), std::string::npos);
  EXPECT_NE(o.out.find("bits a parameter"), std::string::npos);
  EXPECT_NE(complaint(run({"quantize", small_model(), "--size", "0.1bpw"}), 1).find("are too few"), std::string::npos);
}

TEST(QuantizeCommand, ListsMethods) {
  const auto j = run({"quantize", "--list", "--json"}).json();
  ASSERT_GE(j["methods"].size(), 6u);
  EXPECT_EQ(j["methods"][2]["name"], "gptq");
  EXPECT_EQ(j["methods"][2]["needs_calibration"], true);
  EXPECT_EQ(j["methods"][2]["options"]["damping"], "0.01");
  EXPECT_NE(run({"quantize", "--list"}).out.find("smoothquant(float alpha=0.5)"), std::string::npos);
}

TEST(QuantizeCommand, Refuses) {
  const TestFolder f;
  write_file(f / "short", "Once.");
  const auto words = [](std::vector<std::string> more, int code) {
    more.insert(more.begin(), {"quantize", small_model()});
    return complaint(run(more), code);
  };
  EXPECT_NE(words({}, 2).find("--format FORMAT for all weights"), std::string::npos);
  EXPECT_NE(words({"--format", "i4(row)", "--method", "gptqq"}, 2).find("did you mean gptq?"), std::string::npos);
  EXPECT_NE(words({"--format", "i4(row)", "--method", "gptq"}, 1).find("needs calibration data"), std::string::npos);
  EXPECT_NE(words({"--format", "i4(row)", "--option", "damping"}, 2).find("no NAME=VALUE"), std::string::npos);
  EXPECT_NE(words({"--format", "f16"}, 1).find("a scaled format is needed"), std::string::npos);
  EXPECT_NE(words({"--format", "i4(row)", "--calibration", f / "short"}, 1).find("too few to calibrate with"),
            std::string::npos);
  EXPECT_NE(words({"--format", "i4(row)", "--resume"}, 2).find("give it"), std::string::npos);
  EXPECT_NE(complaint(run({"quantize", "--format", "i4(row)"}), 2).find("of which model?"), std::string::npos);
}

}  // namespace
}  // namespace dyadic::testing
