// Running the program as a person would: a process, its exit code, what it wrote.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"

namespace dyadic::testing {

namespace fs = std::filesystem;

inline std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_file(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

class TestFolder {  // gone with its content at the end of the test
  fs::path path_;

 public:
  TestFolder() {
    std::string name = (fs::temp_directory_path() / "dyadic_cli_XXXXXX").native();
    if (mkdtemp(name.data())) path_ = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).native(); }
};

// A few kilobytes: evaluating the built-in corpus takes longer than these runs train.
inline const std::string& text_file() {
  static TestFolder folder;
  static const std::string path = [] {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "line " + std::to_string(i * i % 997) + "\n";
    write_file(folder / "text", text);
    return folder / "text";
  }();
  return path;
}

struct Outcome {
  int code = -1;
  std::string out, err;
  double cpu_seconds = 0;
  nlohmann::json json() const { return parse_json(out); }  // throws unless it is exactly one document
};

class Program {
  TestFolder folder_;
  pid_t pid_ = -1;

 public:
  // Starts build/*/bin/dyadic, which lies beside the tests.
  explicit Program(std::vector<std::string> args, int threads = 1) {
    const std::string path = (fs::read_symlink("/proc/self/exe").parent_path() / "dyadic").native();
    args.insert(args.begin(), path);
    std::vector<char*> argv;
    for (std::string& a : args) argv.push_back(a.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, (folder_ / "out").c_str(), O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addopen(&files, 2, (folder_ / "err").c_str(), O_WRONLY | O_CREAT, 0600);
    setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
    if (posix_spawn(&pid_, path.c_str(), &files, nullptr, argv.data(), environ) != 0)
      ADD_FAILURE() << path << " does not start; ninja bin/dyadic builds it";
    unsetenv("OMP_NUM_THREADS");
    posix_spawn_file_actions_destroy(&files);
  }
  void interrupt() { kill(pid_, SIGINT); }
  void end() { kill(pid_, SIGKILL); }
  bool ends_within(double seconds) const {
    for (int64_t i = 0; double(i) < seconds * 100; ++i, usleep(10000)) {
      siginfo_t info{};
      if (waitid(P_PID, id_t(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) return true;
    }
    return false;
  }
  Outcome wait() {
    Outcome o;
    int status = 0;
    rusage usage{};
    if (pid_ > 0 && wait4(pid_, &status, 0, &usage) == pid_)
      o.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    auto seconds = [](timeval t) { return double(t.tv_sec) + double(t.tv_usec) * 1e-6; };
    o.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    o.out = read_file(folder_ / "out");
    o.err = read_file(folder_ / "err");
    return o;
  }
};

inline Outcome run(std::vector<std::string> args, int threads = 1) { return Program(std::move(args), threads).wait(); }

// One line on stderr that begins with "dyadic: ", nothing on stdout; returns what follows.
inline std::string complaint(const Outcome& o, int code) {
  EXPECT_EQ(o.code, code) << o.err;
  EXPECT_EQ(o.out, "");
  EXPECT_TRUE(o.err.starts_with("dyadic: ") && o.err.find('\n') == o.err.size() - 1) << o.err;
  return o.err.size() > 9 ? o.err.substr(8, o.err.size() - 9) : o.err;
}

}  // namespace dyadic::testing
