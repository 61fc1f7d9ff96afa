// Ranks that are killed: the others end, and the run goes on with another number of them.
#include <signal.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/distributed/mpirun.h"

namespace dyadic::testing {
namespace {

constexpr int kKills = 20;

struct Killed {
  bool in_time = false;  // it had not ended before
  double seconds = 0;    // until all ranks had ended
  bool hung = false;     // mpirun itself
  Outcome outcome;
};

// One of the ranks, within `most` ms of their beginning.
Killed kill_one(const std::vector<std::string>& command, const std::string& folder, int ranks, int most, std::mt19937& random) {
  Program p(command);
  std::vector<pid_t> all;
  for (int wait = 0; wait < 1000 && int(all.size()) < ranks; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    all = ranks_of(folder);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(random() % uint32_t(most)));
  Killed k;
  const auto begin = std::chrono::steady_clock::now();
  if (int(all.size()) == ranks) kill(all[random() % all.size()], SIGKILL);
  while (!ranks_of(folder).empty() && k.seconds < 60) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    k.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  // When all have ended and it has said so, OpenMPI 4.1's mpirun may wait for ever for a lock of its own
  // (PMIx_server_finalize).
  k.hung = !p.ends_within(10);
  if (k.hung) p.end();
  k.outcome = p.wait();
  k.in_time = k.outcome.code != 0;
  return k;
}

void expect_ended(const Killed& k, const std::string& folder) {
  EXPECT_LT(k.seconds, 30);
  EXPECT_TRUE(ranks_of(folder).empty());
  // One line of mpirun's names the rank and the signal.
  const std::string& err = k.outcome.err;
  const size_t signal = err.find("signal 9");
  ASSERT_NE(signal, err.npos) << err;
  const size_t line = err.rfind('\n', signal) + 1;
  EXPECT_NE(err.substr(line, signal - line).find("process rank "), err.npos) << err;
}

// A run is killed again and again, on 2, 3 and 4 ranks and with each spread, until it has ended.
TEST(MpiKill, TwentyKillsAndTheSameBits) {
  NEEDS_MPIRUN();
  TestFolder folder;
  const std::vector<std::string> options = {"--steps", "1500", "--shards", "4", "--checkpoint-every", "10", "--spread"};
  const auto with = [&](const char* spread, bool resume) {
    std::vector<std::string> all = options;
    all.emplace_back(spread);
    if (resume) all.emplace_back("--resume");
    return all;
  };
  const Outcome whole = run(training(1, folder / "whole", with("none", false)));
  ASSERT_EQ(whole.code, 0) << whole.err;
  std::mt19937 random(7);
  constexpr const char* kSpreads[] = {"parameters", "states", "none", "gradients"};
  int kills = 0, hung = 0;
  double longest = 0;
  for (int n = 0; kills < kKills; ++n) {  // a fast machine ends a run in between, and another one begins
    ASSERT_LT(n, 2 * kKills) << "the runs end before they can be killed";
    const std::string killed = folder / fmt::format("killed-{}", n);
    std::filesystem::create_directories(killed);
    bool ended = false;
    while (kills < kKills) {
      const int ranks = 2 + kills % 3;
      const Killed k = kill_one(training(ranks, killed, with(kSpreads[kills % 4], true)), killed, ranks, 1500, random);
      ended = !k.in_time;
      if (ended) break;
      expect_ended(k, killed);
      longest = std::max(longest, k.seconds), hung += k.hung, ++kills;
    }
    if (!ended) {
      const Outcome rest = run(training(3, killed, with("none", true)));
      ASSERT_EQ(rest.code, 0) << rest.err;
    }
    EXPECT_EQ(read_file(killed + "/model.safetensors"), read_file(folder / "whole/model.safetensors"));
  }
  fmt::print("{} kills, all ranks had ended after {:.2f} s at most; mpirun hung in {} of them\n", kills, longest, hung);
}

// Stopped, not killed: nothing of it comes, and after the timeout the others say whom they wait for.
TEST(MpiKill, ARankThatStallsIsNamed) {
  NEEDS_MPIRUN();
  TestFolder folder;
  std::vector<std::string> command = training(3, folder / "run", {"--steps", "100000", "--shards", "3"});
  command.insert(command.begin() + 1, {"--timeout", "2s"});
  Program p(command);
  std::vector<pid_t> all;
  for (int wait = 0; wait < 1000 && all.size() < 3; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    all = ranks_of(folder / "run");
  }
  ASSERT_EQ(all.size(), 3u);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // it trains
  kill(all[1], SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  std::string environment = read_file("/proc/" + std::to_string(all[1]) + "/environ"), rank = "OMPI_COMM_WORLD_RANK=";
  rank = environment.substr(environment.find(rank) + rank.size(), 1);
  std::thread later([&] {  // MPI's launcher waits for it to end
    std::this_thread::sleep_for(std::chrono::seconds(6));
    kill(all[1], SIGCONT);
  });
  const Outcome o = p.wait();
  later.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_NE(o.code, 0);
  EXPECT_NE(o.err.find(" for rank " + rank + "; another rank has stalled or ended (DYADIC_TIMEOUT, set_timeout)"), o.err.npos)
      << rank << o.err;
}

}  // namespace
}  // namespace dyadic::testing
