// dyadic launch: a program as several processes that train together, by mpirun.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/check.h"
#include "cli/command.h"
#include "dyadic/parallel.h"

namespace dyadic::inline v1::cli {
namespace {

struct LaunchOptions {
  int64_t ranks = 2;
  std::string hosts, logs, timeout;
  std::vector<std::string> program;
};

// Becomes mpirun. Each process may run on every processor of its machine and starts an equal share of threads.
int launch(const LaunchOptions& o) {
  const int64_t threads = std::max<int64_t>(num_threads() / o.ranks, 1);
  std::vector<std::string> line = {"mpirun", "-n", std::to_string(o.ranks), "--bind-to", "none", "--oversubscribe"};
  if (!o.hosts.empty()) line.insert(line.end(), {"--host", o.hosts});
  line.insert(line.end(), {"-x", "OMP_NUM_THREADS"});
  const auto tell = [&](const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
    line.insert(line.end(), {"-x", name});
  };
  if (!o.logs.empty()) {
    std::filesystem::create_directories(o.logs);
    tell("DYADIC_LOGS", std::filesystem::absolute(o.logs).native());
  }
  if (!o.timeout.empty()) tell("DYADIC_TIMEOUT", fmt::format("{}", duration(o.timeout)));
  if (geteuid() == 0) line.emplace_back("--allow-run-as-root");
  line.insert(line.end(), o.program.begin(), o.program.end());
  if (!std::getenv("OMP_NUM_THREADS")) setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
  std::vector<char*> words;
  for (std::string& word : line) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  fail("launch: mpirun cannot be started: {}; on Debian it is in openmpi-bin", std::strerror(errno));
}

Run setup_launch(Options& options) {
  auto o = std::make_shared<LaunchOptions>();
  options.value("-n,--ranks", o->ranks, "N", "processes (default: 2)", between(1, 4096))
      .value("--hosts", o->hosts, "A,B", "machines they run on, as mpirun's --host has them (default: this one)")
      .value("--logs", o->logs, "DIR", "a folder for the steps of all but the first process, rank-1.log ... (default: none)")
      .value("--timeout", o->timeout, "T", "after which a process that waits for another names it and ends (default: 30m)",
             [](const std::string& text) { duration(text); })
      .required("program", o->program, "-- PROGRAM ARGUMENT", "what each of them runs");
  return [o](const Common&) { return launch(*o); };
}

}  // namespace

extern const Command launch_command;
const Command launch_command = {"launch", "start a program as several processes that train together (by mpirun)",
                                "dyadic launch -n 4 -- dyadic train --preset baby --recipe bf16", setup_launch};

}  // namespace dyadic::inline v1::cli
