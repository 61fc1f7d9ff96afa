// A process that trains is killed with SIGKILL at 50 random moments; what becomes of it equals what was never interrupted.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "tests/train/run.h"

extern char** environ;

namespace dyadic {
namespace {

using testing::Folder;
using testing::read_bytes;
using testing::SmallRun;

constexpr int64_t kSteps = 240;
constexpr int kKills = 50, kEvery = 3;  // steps from one checkpoint to the next
constexpr char kFolder[] = "DYADIC_TEST_KILLED_RUN", kPipe[] = "DYADIC_TEST_KILLED_RUN_PIPE";

// Goes on with the run in `folder` to its end, and writes what came out of it.
template <class F> void train_in(const std::string& folder, int workers, int64_t shard_bytes, F&& after_step) {
  manual_seed(3);
  SmallRun run(workers);
  train::History history({.csv = folder + "/history.csv"});
  train::Checkpoint checkpoint(folder + "/checkpoints",
                               {.keep = 2, .best = "loss", .shard_bytes = shard_bytes, .background = true});
  run.add_to(checkpoint);
  checkpoint.add("history", history);
  if (auto resumed = checkpoint.resume()) run.step = resumed->step;
  run.train(kSteps, [&](int64_t step, double loss) {
    history.log(step, {{"loss", loss}, {"lr", run.schedule.get_last_lr()[0]}});
    if (step % 10 == 0) history.log(step, {{"mean", run.mean_loss}});
    if (step % kEvery == 0) checkpoint.save(step, {{"loss", loss}});
    after_step();
    return true;
  });
  checkpoint.wait();
  history.sync();
  testing::write_bytes(folder + "/result.tmp", run.weights() + "\n" + std::to_string(run.scaler.get_scale()) + "\n");
  std::filesystem::rename(folder + "/result.tmp", folder + "/result");
}

// The process that is killed: this program again, with this test alone.
TEST(KilledRun, DISABLED_Child) {
  const char* folder = std::getenv(kFolder);
  if (!folder) GTEST_SKIP() << "only as a child of the other test";
  const int pipe = std::atoi(std::getenv(kPipe));
  train_in(folder, 2, 2000, [&] { (void)!write(pipe, "x", 1); });
}

class Child {
  pid_t pid_ = -1;
  int pipe_[2] = {-1, -1};

 public:
  explicit Child(const std::string& folder) {
    EXPECT_EQ(pipe(pipe_), 0);
    fcntl(pipe_[0], F_SETFD, FD_CLOEXEC);
    setenv(kFolder, folder.c_str(), 1);
    setenv(kPipe, std::to_string(pipe_[1]).c_str(), 1);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, (folder + "/out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&files, 2, (folder + "/err").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    std::string self = "/proc/self/exe", filter = "--gtest_filter=KilledRun.DISABLED_Child",
                disabled = "--gtest_also_run_disabled_tests";
    char* argv[] = {self.data(), filter.data(), disabled.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, self.c_str(), &files, nullptr, argv, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    close(pipe_[1]);
  }
  ~Child() { close(pipe_[0]); }
  // Waits for so many steps; false: it has ended before.
  bool wait_steps(int64_t steps) {
    char byte;
    for (; steps > 0; --steps)
      if (read(pipe_[0], &byte, 1) != 1) return false;
    return true;
  }
  int end(bool killed) {
    if (killed) kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    return status;
  }
};

std::string csv_of(const std::string& folder) { return read_bytes(folder + "/history.csv"); }

TEST(KilledRun, FiftyKillsChangeNothing) {
  Folder whole;
  train_in(whole.path().native(), 0, 0, [] {});
  const std::string expected = read_bytes(whole / "result");
  ASSERT_FALSE(expected.empty());

  std::mt19937 random(2026);
  auto between = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  int kills = 0, runs = 0, resumed_late = 0;
  for (; kills < kKills; ++runs) {
    Folder folder;
    for (bool ended = false; !ended;) {
      Child child(folder.path().native());
      const bool killing = kills < kKills;
      const int steps = between(0, 12), pause = between(0, 15'000);
      ended = !child.wait_steps(killing ? steps : INT64_MAX);
      if (!ended) usleep(useconds_t(pause));
      const int status = child.end(!ended);
      if (ended) {
        ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << read_bytes(folder / "out") << read_bytes(folder / "err");
      } else if (WIFSIGNALED(status)) {
        ++kills;
      } else {
        ended = true;  // it was faster than the signal
      }
      resumed_late += std::filesystem::exists(folder / "checkpoints");
    }
    EXPECT_EQ(read_bytes(folder / "result"), expected);
    EXPECT_EQ(csv_of(folder.path().native()), csv_of(whole.path().native()));
    const std::string complaints = read_bytes(folder / "err");
    EXPECT_EQ(complaints.find("damaged"), complaints.npos) << complaints;
  }
  EXPECT_EQ(kills, kKills);
  EXPECT_GT(resumed_late, kKills / 2);
  RecordProperty("runs", runs);
}

}  // namespace
}  // namespace dyadic
