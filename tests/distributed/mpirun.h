// What tests under mpirun share.
#pragma once
#include <fmt/format.h>

#include "tests/cli/program.h"

namespace dyadic::testing {

inline std::string program() { return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "dyadic").native(); }

// `command` on so many ranks.
inline std::vector<std::string> launched(int ranks, std::vector<std::string> command) {
  std::vector<std::string> args = {"launch", "-n", std::to_string(ranks), "--", program()};
  args.insert(args.end(), command.begin(), command.end());
  return args;
}
inline std::vector<std::string> training(int ranks, const std::string& out, const std::vector<std::string>& more) {
  std::vector<std::string> args = {"train", "--preset", "nano", "--data", text_file(), "--out", out, "--json"};
  args.insert(args.end(), more.begin(), more.end());
  return launched(ranks, args);
}

// Sandboxes may forbid what mpirun does, whatever it starts.
#define NEEDS_MPIRUN()                                                         \
  if (const Outcome o = run({"launch", "-n", "2", "--", "true"}); o.code != 0) \
  GTEST_SKIP() << "mpirun does not run here: " << o.err

// Process ids of the ranks of a run, by its folder on their command lines.
inline std::vector<pid_t> ranks_of(const std::string& folder) {
  std::vector<pid_t> out;
  for (auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    std::string line;
    std::ifstream file(entry.path() / "cmdline");
    std::getline(file, line);  // of a process that ends meanwhile: nothing (a stream's own iterator would throw)
    if (line.starts_with(program() + '\0') && !line.starts_with(program() + '\0' + "launch") && line.find(folder) != line.npos)
      out.push_back(std::stoi(name));
  }
  return out;
}

}  // namespace dyadic::testing
