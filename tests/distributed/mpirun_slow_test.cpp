// Processes under mpirun: equal weights on any number of them, studies, what is refused.
#include "tests/distributed/mpirun.h"

namespace dyadic::testing {
namespace {

TEST(MpiRun, EqualWeightsOnAnyNumberOfRanks) {
  NEEDS_MPIRUN();
  for (const char* recipe : {"f32", "pure-bf16-sr", "bf16-adam8", "f16"}) {
    nlohmann::json alone;
    for (const int ranks : {1, 2, 3, 4}) {
      TestFolder folder;
      const Outcome o = run(training(ranks, folder / "run", {"--recipe", recipe, "--steps", "50", "--shards", "4"}));
      ASSERT_EQ(o.code, 0) << o.err;
      const auto found = o.json();
      if (ranks == 1) alone = found;
      EXPECT_EQ(found["weights_sha256"], alone["weights_sha256"]) << recipe << " on " << ranks << " ranks";
      EXPECT_EQ(found["val_loss"], alone["val_loss"]);
      EXPECT_EQ(found["ranks"], ranks);
      // The least that a sum of gradients takes; three ranks' shards are no whole nodes of the tree.
      if (std::string_view(recipe) == "f32" && ranks != 3) {
        const auto bytes = alone["bytes"]["parameters"]["measured"].get<double>();
        EXPECT_LE(found["bytes_sent_per_step"], 1.05 * 2 * (ranks - 1) / ranks * bytes);
        EXPECT_EQ(found["bytes_sent_per_step"] > 0, ranks > 1);
      }
      for (const char* what : {"states", "gradients", "parameters"}) {
        const std::string where = fmt::format("{} on {} ranks, {} spread", recipe, ranks, what);
        const Outcome parted =
            run(training(ranks, folder / what, {"--recipe", recipe, "--steps", "50", "--shards", "4", "--spread", what}));
        ASSERT_EQ(parted.code, 0) << parted.err;
        const auto spread = parted.json();
        EXPECT_EQ(spread["weights_sha256"], alone["weights_sha256"]) << where;
        EXPECT_EQ(spread["val_loss"], alone["val_loss"]) << where;
        EXPECT_EQ(spread["bytes_sent_per_step_predicted"], spread["bytes_sent_per_step"]) << where;
        for (auto& [name, bytes] : spread["bytes"].items()) EXPECT_EQ(bytes["predicted"], bytes["measured"]) << where << name;
        // Whole parameters are shared out; dynamic8 keeps the embedding's states in f32, which are one rank's.
        const auto share = [&](const char* of) {
          return double(spread["bytes"][of]["measured"]) / double(alone["bytes"][of]["measured"]);
        };
        EXPECT_LT(share("optimizer"), ranks == 1 ? 1.01 : (std::string_view(recipe) == "bf16-adam8" ? 2.0 : 1.6) / ranks)
            << where;
      }
      EXPECT_EQ(found["bytes"]["peak"]["predicted"], found["bytes"]["peak"]["measured"])
          << recipe << " on " << ranks << " ranks";
    }
  }
}

TEST(MpiRun, WhatRanksDoNotAgreeOn) {
  NEEDS_MPIRUN();
  TestFolder folder;
  std::vector<std::string> args = training(1, folder / "run", {"--steps", "5", "--shards", "2", ":", "-n", "1"});
  const std::vector<std::string> other = training(1, folder / "run", {"--steps", "6", "--shards", "2"});
  args.insert(args.end(), other.begin() + 4, other.end());
  const Outcome o = run(args);
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.err.find("rank 1: distributed: ranks do not agree on the run: rank 0 has steps 5, rank 1 steps 6"), o.err.npos)
      << o.err;
}

// Gradients that travel in fewer bits are another run, the same on any number of ranks.
TEST(MpiRun, EqualWeightsWithGradientsInFewerBits) {
  NEEDS_MPIRUN();
  for (const char* wire : {"bf16", "dynamic8"}) {
    nlohmann::json alone;
    for (const int ranks : {1, 2, 3, 4}) {
      TestFolder folder;
      const std::vector<std::string> options = {"--recipe", "bf16-adam8", "--steps",    "30",     "--shards",
                                                "4",        "--spread",   "parameters", "--wire", wire};
      const Outcome o = run(training(ranks, folder / "run", options));
      ASSERT_EQ(o.code, 0) << o.err;
      const auto found = o.json();
      if (ranks == 1) alone = found;
      EXPECT_EQ(found["weights_sha256"], alone["weights_sha256"]) << wire << " on " << ranks << " ranks";
      EXPECT_EQ(found["bytes_sent_per_step_predicted"], found["bytes_sent_per_step"]) << wire << " on " << ranks << " ranks";
      for (auto& [name, bytes] : found["bytes"].items()) EXPECT_EQ(bytes["predicted"], bytes["measured"]) << wire << name;
      // Stopped on these ranks, what has still to travel goes on with others.
      std::vector<std::string> again = options;
      again.insert(again.end(), {"--checkpoint-every", "7", "--time", "0.3s"});
      const Outcome stopped = run(training(ranks, folder / "stopped", again));
      again.resize(options.size());
      again.emplace_back("--resume");
      if (stopped.code == 0) continue;  // it was faster
      const Outcome rest = run(training(ranks % 4 + 1, folder / "stopped", again));
      ASSERT_EQ(rest.code, 0) << rest.err;
      EXPECT_EQ(rest.json()["weights_sha256"], alone["weights_sha256"]) << wire << " stopped on " << ranks << " ranks";
    }
  }
}

// Every rank trains some of the recipes; the report is that of one.
TEST(MpiRun, AStudySpreadsItsRecipes) {
  NEEDS_MPIRUN();
  nlohmann::json alone;
  for (const int ranks : {1, 3}) {
    TestFolder folder;
    const Outcome o = run({"launch",
                           "-n",
                           std::to_string(ranks),
                           "--",
                           program(),
                           "study",
                           "--preset",
                           "nano",
                           "--data",
                           text_file(),
                           "--steps",
                           "20",
                           "--recipe",
                           "bf16",
                           "--recipe",
                           "pure-bf16",
                           "--recipe",
                           "bf16-adam8",
                           "--format",
                           "q8_0",
                           "--out",
                           folder / "study",
                           "--json"});
    ASSERT_EQ(o.code, 0) << o.err;
    const auto found = o.json();
    if (ranks == 1) alone = found;
    ASSERT_EQ(found["recipes"].size(), 4u);
    for (size_t i = 0; i < 4; ++i)
      for (const char* what : {"name", "status", "weights_sha256", "val_loss", "val_loss_delta"})
        EXPECT_EQ(found["recipes"][i][what], alone["recipes"][i][what]) << what << " of " << found["recipes"][i]["name"];
    for (const auto& r : found["recipes"]) EXPECT_GT(r["step_ms"].get<double>(), 0) << r["name"];
    EXPECT_EQ(found["formats"][1]["val_loss"], alone["formats"][1]["val_loss"]);
  }
}

TEST(MpiRun, WhatRunsAsOneProcess) {
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  const Outcome o = run({"plan", "--preset", "nano"});
  unsetenv("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(complaint(o, 2), "rank 0: plan: it runs as one process, not as 2 that were started together");
}

TEST(MpiRun, WithoutThePlugin) {
  TestFolder folder;
  setenv("DYADIC_MPI", "/nowhere/libdyadic_mpi.so", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  const Outcome o = run({"train", "--preset", "nano", "--out", folder / "run"});
  unsetenv("OMPI_COMM_WORLD_SIZE");
  unsetenv("DYADIC_MPI");
  const std::string line = complaint(o, 1);
  EXPECT_NE(line.find("2 processes were started together, but the plug-in that joins them is missing"), line.npos) << line;
  EXPECT_NE(line.find("./dev build --mpi"), line.npos);
}

}  // namespace
}  // namespace dyadic::testing
