// dyadic plan, and dyadic train --memory-limit, which does what it says.
#include <algorithm>
#include <iterator>

#include "cli/command.h"
#include "device/failure.h"
#include "tests/cli/program.h"

namespace dyadic::testing {
namespace {

std::vector<std::string> words(const char* command, std::vector<std::string> more) {
  std::vector<std::string> all = {command, "--preset", "nano", "--data", text_file()};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(PlanCommand, OffersWaysInTheOrderOfTheTimeTheyTake) {
  const auto j = run(words("plan", {"--json"})).json();
  EXPECT_EQ(j["memory_limit"], nullptr);
  EXPECT_EQ(j["chosen"]["name"], "as it is");
  double before = 0;
  int exact = 0, offered = 0;
  for (const auto& c : j["candidates"]) {
    EXPECT_GE(c["ms_per_step"].get<double>(), before);
    before = c["ms_per_step"];
    exact += c["exact"].get<bool>();
    offered += !c["allowed"].get<bool>();
    EXPECT_GE(c["bytes"]["peak"].get<int64_t>(), j["least_if_all_is_allowed"].get<int64_t>());
  }
  EXPECT_GT(exact, 3);
  EXPECT_GT(offered, 1);
  EXPECT_LT(j["least"].get<int64_t>(), j["chosen"]["bytes"]["peak"].get<int64_t>() * 9 / 10);
}

TEST(PlanCommand, LongerContextsAndLargerBatchesTakeMore) {
  auto peak = [](std::vector<std::string> more) {
    more.push_back("--json");
    return run(words("plan", more)).json()["chosen"]["bytes"]["peak"].get<int64_t>();
  };
  const int64_t plain = peak({});
  EXPECT_GT(peak({"--context", "64"}), plain);
  EXPECT_GT(peak({"--batch", "8"}), plain);
  EXPECT_EQ(peak({"--context", "64"}), peak({"--block", "64"}));
}

// The least of the ways that change no bits, in memory or on disk.
int64_t least_of(const char* recipe, bool on_disk) {
  int64_t least = INT64_MAX;
  const auto plan = run(words("plan", {"--recipe", recipe, "--json"})).json();
  for (const auto& c : plan["candidates"])
    if (c["allowed"] && (c["disk_bytes_per_step"] > 0) == on_disk) least = std::min<int64_t>(least, c["bytes"]["peak"]);
  return least;
}

TEST(PlanCommand, TheLeastLimitTrainsToTheSameBitsAndOneByteLessFailsAtOnce) {
  TestFolder f;
  const int64_t least = least_of("f32", true), in_memory = least_of("f32", false);
  EXPECT_EQ(run(words("plan", {"--json"})).json()["least"], least);
  EXPECT_LT(least, in_memory);
  auto train = [&](const char* out, std::vector<std::string> more) {
    more.insert(more.end(), {"--steps", "6", "--json", "--out", f / out});
    return run(words("train", more));
  };
  const auto free = train("free", {}).json();
  for (const int64_t limit : {in_memory, least}) {
    const Outcome o = train(limit == least ? "disk" : "limited", {"--memory-limit", std::to_string(limit)});
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_NE(o.err.find("to fit into"), std::string::npos) << o.err;
    if (limit == least) {  // above it the disk may be the faster way, or not
      EXPECT_NE(o.err.find("parameters and states on disk"), std::string::npos) << o.err;
      EXPECT_NE(o.err.find("of activations on disk"), std::string::npos) << o.err;
    }
    const auto limited = o.json();
    EXPECT_EQ(limited["weights_sha256"], free["weights_sha256"]);
    EXPECT_EQ(limited["bytes"]["peak"]["measured"], limited["bytes"]["peak"]["predicted"]);
    EXPECT_LE(limited["bytes"]["peak"]["measured"].get<int64_t>(), limit);
    if (limit == least) { EXPECT_EQ(limited["bytes"]["peak"]["measured"], limit); }
  }
  EXPECT_GT(free["bytes"]["peak"]["measured"].get<int64_t>(), in_memory * 11 / 10);
  const Outcome nowhere =
      run(words("train", {"--steps", "6", "--memory-limit", std::to_string(least), "--out", "/proc/nowhere/run"}));
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_NE(nowhere.err.find("train: the folder /proc/nowhere/run cannot be written"), std::string::npos) << nowhere.err;
  const std::string words = complaint(train("less", {"--memory-limit", std::to_string(least - 1)}), 1);
  EXPECT_NE(words.find("the least that training takes is " + std::to_string(least) + " bytes"), std::string::npos) << words;
  EXPECT_FALSE(fs::exists(f / "less"));
  const Outcome allowed = train("allowed", {"--memory-limit", std::to_string(least - 1), "--allow", "accumulation"});
  ASSERT_EQ(allowed.code, 0) << allowed.err;
  EXPECT_NE(allowed.err.find("pieces"), std::string::npos) << allowed.err;
  EXPECT_EQ(allowed.json()["bytes"]["peak"]["predicted"], allowed.json()["bytes"]["peak"]["measured"]);
}

TEST(PlanCommand, AStudyFitsIntoItsLimitToTheSameBits) {
  TestFolder f;
  auto study = [&](const char* out, std::vector<std::string> more) {
    more.insert(more.end(), {"--steps", "60", "--recipe", "bf16", "--format", "nf4", "--json", "--out", f / out});
    return run(words("study", more));
  };
  const auto free = study("free", {}).json();
  int64_t limit = 0;
  for (const bool on_disk : {false, true}) {
    limit = std::max(least_of("f32", on_disk), least_of("bf16", on_disk));
    const Outcome o = study(on_disk ? "disk" : "limited", {"--memory-limit", std::to_string(limit)});
    ASSERT_EQ(o.code, 0) << o.err;
    const auto limited = o.json();
    EXPECT_NE(limited["model"]["notes"].dump().find(on_disk ? "on disk" : "To fit into"), std::string::npos)
        << limited["model"]["notes"];
    int smaller = 0;  // a recipe that fits as it is takes what it takes
    for (int i = 0; i < 2; ++i) {
      const auto &a = limited["recipes"][i], &b = free["recipes"][i];
      EXPECT_EQ(a["weights_sha256"], b["weights_sha256"]) << a["name"];
      EXPECT_EQ(a["val_loss"], b["val_loss"]) << a["name"];
      EXPECT_EQ(a["bytes"]["peak"]["predicted"], a["bytes"]["peak"]["measured"]) << a["name"];
      EXPECT_LE(a["bytes"]["peak"]["measured"].get<int64_t>(), limit);
      smaller += a["bytes"]["peak"]["measured"].get<int64_t>() < b["bytes"]["peak"]["measured"].get<int64_t>();
      EXPECT_EQ(limited["formats"][i]["val_loss"], free["formats"][i]["val_loss"]);
      EXPECT_EQ(limited["formats"][i]["bytes"], free["formats"][i]["bytes"]);
    }
    EXPECT_GT(smaller, 0);
  }
  const int64_t least = least_of("f32", true);
  const std::string words = complaint(study("less", {"--memory-limit", std::to_string(least - 1)}), 1);
  EXPECT_NE(words.find("study: f32 does not fit"), std::string::npos) << words;
  EXPECT_FALSE(fs::exists(f / "less"));
  const std::string shadow = complaint(study("shadow", {"--shadow", "--memory-limit", std::to_string(limit)}), 1);
  EXPECT_NE(shadow.find("study: --shadow compares with wider results"), std::string::npos) << shadow;
}

// In this process, whose allocations can be refused.
TEST(PlanCommand, OutOfMemoryDuringARunNamesTheCommandThatFits) {
  TestFolder f;
  const std::string out = f / "a", data = text_file();
  const char* line[] = {"dyadic", "train", "--preset", "nano", "--steps", "400", "--data", data.c_str(), "--out", out.c_str()};
  fail_allocation(20'000);  // when tens of steps have been taken
  ::testing::internal::CaptureStderr();
  const int code = cli::run(int(std::size(line)), line);
  const std::string said = ::testing::internal::GetCapturedStderr();
  fail_allocation(0);
  EXPECT_EQ(code, 1);
  EXPECT_NE(said.find("out of memory: "), std::string::npos) << said;
  EXPECT_NE(said.find("it fits into that: dyadic train --preset nano --steps 400"), std::string::npos) << said;
  EXPECT_NE(said.find(" --memory-limit "), std::string::npos) << said;
}

TEST(PlanCommand, ALimitThatNothingFitsIsNoSuccess) {
  const Outcome o = run(words("plan", {"--memory-limit", "100K"}));
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.out.find("Nothing fits into 100 KiB: the least is "), std::string::npos) << o.out;
  EXPECT_NE(complaint(run(words("plan", {"--allow", "magic"})), 2).find("accumulation or states"), std::string::npos);
}

// Ranks on paper; slow tests hold the bytes to those of ranks that are there.
TEST(PlanCommand, Ranks) {
  const auto j = run(words("plan", {"--ranks", "4", "--json"})).json();
  std::vector<int64_t> peak, states, gradients;
  for (const auto& c : j["spreads"]) {
    peak.push_back(c["bytes"]["peak"]);
    states.push_back(c["bytes"]["optimizer"]);
    gradients.push_back(c["bytes"]["gradients"]);
    EXPECT_GT(c["bytes_sent_per_step"].get<int64_t>(), 0);
    EXPECT_NEAR(c["ms_per_step"].get<double>(), c["computing_ms"].get<double>() + c["network_ms"].get<double>(), 1e-9);
  }
  ASSERT_EQ(peak.size(), 4u);
  EXPECT_LT(states[1], states[0]);
  EXPECT_LT(gradients[2], gradients[1]);
  EXPECT_LT(peak[3], peak[0]);
  EXPECT_EQ(j["growth"].size(), 8u);
  EXPECT_EQ(j["growth"][7]["ranks"], 1024);

  const auto limited = run(words("plan", {"--ranks", "4", "--json", "--memory-limit", std::to_string(peak[0] - 1)})).json();
  EXPECT_EQ(limited["spreads"][0]["fits"], false);
  EXPECT_NE(limited["chosen"], "none");
  const auto slow = run(words("plan", {"--ranks", "4", "--json", "--link", "1M"})).json();
  EXPECT_EQ(slow["network_limits_from"], 8);
  EXPECT_GT(slow["spreads"][0]["network_ms"].get<double>(), j["spreads"][0]["network_ms"].get<double>());
  const auto measured = run(words("plan", {"--ranks", "4", "--json", "--step-ms", "1000"})).json();
  EXPECT_GT(measured["spreads"][0]["computing_ms"].get<double>(), 100);

  const std::string text = run(words("plan", {"--ranks", "2", "--link", "1M"})).out;
  EXPECT_NE(text.find("From 8 ranks on the network takes longer than computing."), text.npos) << text;
  EXPECT_NE(run(words("plan", {"--ranks", "9"})).err.find("shards are at least the ranks and at most the batch"), text.npos);
  EXPECT_NE(run(words("plan", {"--ranks", "2", "--link", "fast"})).err.find("bits a second, such as 10G or 800M"), text.npos);
  EXPECT_EQ(run(words("plan", {"--ranks", "2", "--memory-limit", "1000"})).code, 1);
}

}  // namespace
}  // namespace dyadic::testing
