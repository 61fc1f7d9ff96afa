// What the program says to right and wrong command lines.
#include <algorithm>
#include <map>

#include "dyadic/dtype.h"
#include "dyadic/version.h"
#include "tests/cli/program.h"

namespace dyadic::testing {
namespace {

TEST(CommandLine, AloneListsTheSubcommands) {
  Outcome o = run({});
  EXPECT_EQ(o.code, 0);
  for (const char* name : {"study", "train", "plan", "generate", "formats", "ops", "bench"})
    EXPECT_NE(o.out.find(std::string("\n  ") + name + " "), o.out.npos) << name;
}

TEST(CommandLine, VersionComesFast) {
  double best = 1;
  for (int i = 0; i < 10; ++i) {
    Outcome o = run({"--version"});
    EXPECT_EQ(o.code, 0);
    EXPECT_EQ(o.out, "dyadic " DYADIC_VERSION "\n");
    best = std::min(best, o.cpu_seconds);
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(best, 0.010);
#endif
}

TEST(CommandLine, EverySubcommandHasHelpWithAnExample) {
  for (std::vector<std::string> words : std::vector<std::vector<std::string>>{{"study"},
                                                                              {"train"},
                                                                              {"generate"},
                                                                              {"eval"},
                                                                              {"formats"},
                                                                              {"ops"},
                                                                              {"bench", "train"},
                                                                              {"bench", "gpt"},
                                                                              {"bench", "ops"},
                                                                              {"bench", "overhead"},
                                                                              {"bench", "optim"},
                                                                              {"bench", "compile"}}) {
    std::string name = "dyadic " + words[0] + (words.size() > 1 ? " " + words[1] : "");
    words.push_back("--help");
    Outcome o = run(words);
    EXPECT_EQ(o.code, 0);
    size_t example = o.out.find("Example:\n  " + name);
    EXPECT_NE(example, o.out.npos) << o.out;
    EXPECT_NE(o.out.find("Usage: " + name + " "), o.out.npos) << o.out;
    EXPECT_NE(o.out.find("--json"), o.out.npos) << name;
    EXPECT_NE(o.out.find("--threads N"), o.out.npos) << name;
  }
  EXPECT_NE(run({"bench"}).out.find("\n  overhead "), std::string::npos);
}

TEST(CommandLine, MistakesAreExitCode2AndListWhatIsKnown) {
  auto said = [](std::vector<std::string> words) { return complaint(run(std::move(words)), 2); };
  EXPECT_EQ(
      said({"formt"}),
      "unknown subcommand \"formt\"; did you mean formats? the known ones are study, train, finetune, distill, launch, plan, "
      "generate, eval, quantize, prune, inspect, convert, diff, formats, ops, bench");
  EXPECT_EQ(said({"bench", "nothing"}),
            "bench: unknown subcommand \"nothing\"; the known ones are train, gpt, ops, overhead, optim, convert, io, compile, "
            "quant, cuda");
  EXPECT_EQ(
      said({"formats", "--jsn"}),
      "formats: unknown option \"--jsn\"; did you mean --json? the known ones are --help, --value, --bits, --error, --size, "
      "--svg, --threads, --memory-limit, --json");
  EXPECT_EQ(said({"train", "--out", "y", "x"}), "train: \"x\" is not expected here; dyadic train --help shows what is");
  EXPECT_NE(said({"formats", "bf17"}).find("did you mean bf16?"), std::string::npos);
  EXPECT_NE(said({"formats", "bf16", "--value", "x"}).find("is not a number"), std::string::npos);
  EXPECT_NE(said({"formats", "bf16", "--bits", "0x10000"}).find("is not a code of bf16"), std::string::npos);
  EXPECT_NE(said({"formats", "--bits", "1"}).find("of which format?"), std::string::npos);
  EXPECT_NE(said({"formats", "nf4", "--value", "1"}).find("try --error"), std::string::npos);
  EXPECT_NE(said({"formats", "--error", "gauss"}).find("normal, uniform, lognormal"), std::string::npos);
  EXPECT_EQ(said({"train", "--out", "x", "--preset", "huge"}),
            "train: --preset: unknown preset \"huge\"; the known ones are nano, char, baby, gpt2s, nanogpt-cpu");
  EXPECT_EQ(said({"train", "--out", "x", "--recipe", "f8"}),
            "train: --recipe: unknown recipe \"f8\"; the known ones are f32, bf16, f16, pure-bf16, pure-bf16-sr, bf16-adam8");
  EXPECT_NE(said({"study", "--format", "f3"}).find("\"dyadic formats\" lists all"), std::string::npos);
  EXPECT_EQ(said({"train", "--out", "x", "--steps", "0"}), "train: --steps: 0 is less than 1");
  EXPECT_EQ(said({"train", "--out", "x", "--steps", "1e3"}), "train: --steps: 1e3 is not a whole number");
  EXPECT_EQ(said({"train", "--steps", "99999999999999999999"}),
            "train: --steps: 99999999999999999999 is not a whole number from -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(said({"study", "--seed", "-1"}), "study: --seed: -1 is not a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(said({"generate", "--model", "x", "--tokens", "1e30"}), "generate: --tokens: 1e30 is not a whole number");
  EXPECT_EQ(said({"train", "--memory-limit", "much"}),
            "train: --memory-limit: much is not a number of bytes; write 500M or 2G");
  EXPECT_EQ(said({"formats", "bf16", "--value", "1e400"}),
            "formats: --value: 1e400 is beyond float64, in which values are read: 1.8e308 is its largest");
  EXPECT_EQ(said({"generate"}), "generate: of which model? dyadic generate MODEL -p TEXT");
  EXPECT_EQ(said({"train", "--time", "soon"}), "train: --time: soon is not a duration; write 90s, 2m or 1h");
  EXPECT_EQ(said({"formats", "--threads", "0"}), "formats: --threads: 0 is not between 1 and 4096");
  EXPECT_EQ(said({"bench", "gpt", "--precision", "f8"}),
            "bench gpt: --precision: unknown precision \"f8\"; the known ones are f32, bf16");
  EXPECT_FALSE(fs::exists("x"));
}

TEST(CommandLine, FormatsShowNumbersAndCodes) {
  const Outcome one = run({"formats", "bf16", "--value", "0.1"});
  EXPECT_EQ(one.out,
            "format          bf16\nbits            0 01111011 1001101   0x3dcd\nstored value    0.10009765625\n"
            "relative error  0.000977\n");
  const auto all = run({"formats", "--value", "1e-3", "--json"}).json();
  EXPECT_EQ(all["rows"][0]["decimal"], "0.001000000000000000020816681711721685132943093776702880859375");
  EXPECT_EQ(run({"formats", "f8e4m3fn", "--bits", "0x7e", "--json"}).json()["stored"], 448);
  EXPECT_EQ(run({"formats", "i4", "--bits", "0b1000", "--json"}).json()["decimal"], "-8");
  const auto errors = run({"formats", "nf4(block=64)", "--error", "normal", "--size", "262144", "--json"}).json()["rows"][0];
  EXPECT_NEAR(errors["mae"].get<double>(), 0.0728, 0.0005);  // bitsandbytes' own table has .072798
  EXPECT_NEAR(errors["snr_db"].get<double>(), 20.73, 0.1);
  EXPECT_EQ(errors["bits_per_weight"], 4.5);
  TestFolder f;
  EXPECT_EQ(run({"formats", "--svg", f / "line.svg"}).code, 0);
  EXPECT_NE(read_file(f / "line.svg").find("f8e4m3fn"), std::string::npos);
}

TEST(CommandLine, FormatsAreTheRegisteredOnes) {
  Outcome o = run({"formats", "--json"});
  EXPECT_EQ(o.code, 0);
  auto rows = o.json()["formats"];
  std::vector<DType> all = registered_dtypes();
  ASSERT_EQ(rows.size(), all.size());
  std::map<std::string, nlohmann::json> by_name;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(rows[i]["name"], all[i].name());
    by_name[all[i].name()] = rows[i];
  }
  EXPECT_EQ(by_name["f16"]["max"], 65504);
  EXPECT_EQ(by_name["bf16"]["long_name"], "bfloat16");
  EXPECT_EQ(by_name["bf16"]["eps"], 0.0078125);
  EXPECT_EQ(by_name["f32"]["bias"], 127);
  EXPECT_EQ(by_name["q8_0"]["bits_per_weight"], 8.5);  // 32 bytes and an f16 scale for 32 weights
  EXPECT_EQ(by_name["i8"]["bits_per_weight"], 8);
  EXPECT_TRUE(by_name["i8"]["eps"].is_null());
  Outcome table = run({"formats"});
  for (DType d : all) EXPECT_NE(table.out.find("\n" + d.name() + " "), table.out.npos) << d.name();
}

TEST(CommandLine, BenchOfTrainingShowsTheWaitForData) {
  Outcome o =
      run({"bench", "train", "--case", "nano", "digits", "--precision", "f32", "--steps", "3", "--threads", "1", "--json"});
  ASSERT_EQ(o.code, 0) << o.err;
  auto rows = o.json()["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["case"], "gpt/nano");
  EXPECT_EQ(rows[1]["case"], "cnn/digits");
  for (auto& row : rows) {
    EXPECT_GT(row["wait_ms"].get<double>(), 0);
    EXPECT_LT(row["wait_ms"].get<double>(), row["ms_median"].get<double>() * 3);
    EXPECT_GT(row["rate"].get<double>(), 0);
  }
}

TEST(CommandLine, BenchRowsHaveAllFigures) {
  for (std::vector<std::string> words :
       std::vector<std::vector<std::string>>{{"bench", "gpt", "--preset", "nano", "--precision", "f32", "bf16", "--steps", "2"},
                                             {"bench", "optim", "--size", "10000", "--steps", "2"}}) {
    words.insert(words.end(), {"--threads", "2", "--json"});
    Outcome o = run(words);
    ASSERT_EQ(o.code, 0) << o.err;
    auto j = o.json();
    for (const char* key : {"flops_peak", "bytes_per_s_peak"}) EXPECT_GT(j["machine"][key].get<double>(), 1e6) << key;
    EXPECT_EQ(j["machine"]["threads"], 2);
    EXPECT_TRUE(j["machine"]["isa"].is_string());
    bool gpt = words[1] == "gpt";
    ASSERT_EQ(j["rows"].size(), gpt ? 2u : 3u);
    EXPECT_EQ(j["rows"][0]["case"], gpt ? "gpt/nano" : "adamw");
    EXPECT_EQ(j["rows"][0]["dtype"], "f32");
    EXPECT_EQ(j["rows"][1]["dtype"], "bf16");
    EXPECT_EQ(j["rows"].back()["dtype"], gpt ? "bf16" : "dynamic8");
    EXPECT_EQ(j["rows"][0]["unit"], gpt ? "GFLOP/s" : "ns");
    for (auto& row : j["rows"]) {
      EXPECT_GT(row["ms_min"].get<double>(), 0);
      EXPECT_LE(row["ms_min"].get<double>(), row["ms_median"].get<double>());
      EXPECT_GT(row["rate"].get<double>(), 0);
      EXPECT_GT(row["peak_share"].get<double>(), 0);
      EXPECT_EQ(row["threads"], 2);
    }
  }
}

}  // namespace
}  // namespace dyadic::testing
