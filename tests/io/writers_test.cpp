// Every kind of file that is written appears whole or not at all: an error at each write in turn, a process that dies at each.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>

#include "dyadic/tensor_file.h"
#include "tests/io/helpers.h"

namespace dyadic::testing {
namespace {

struct WrittenKind {
  const char *name, *ending;
};
class Writers : public ::testing::TestWithParam<WrittenKind> {};
INSTANTIATE_TEST_SUITE_P(All, Writers,
                         ::testing::Values(WrittenKind{"safetensors", ".safetensors"}, WrittenKind{"gguf", ".gguf"},
                                           WrittenKind{"torch", ".pt"}, WrittenKind{"npz", ".npz"}, WrittenKind{"npy", ".npy"}),
                         [](auto& info) { return std::string(info.param.name); });

io::NamedTensors contents(double of, bool one) {
  io::NamedTensors all{{"a", full({7, 32}, of)}};
  if (!one) all.emplace_back("b", full({3}, of, f16)), all.emplace_back("c", full({64}, of, i32));
  return all;
}

// No file may grow beyond `most` bytes while f runs: a write is cut there, and the next fails, or is the process's last.
template <class F> void with_limit(rlim_t most, bool deadly, F f) {
  rlimit old_limit, limit;
  getrlimit(RLIMIT_FSIZE, &old_limit);
  limit = old_limit, limit.rlim_cur = most;
  auto* handler = std::signal(SIGXFSZ, deadly ? SIG_DFL : SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  f();
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, handler);
}

TEST_P(Writers, LeaveTheOldFileWhereAnyWriteFails) {
  const Folder folder;
  const bool one = GetParam().name == std::string_view("npy");
  const std::string path = folder / (std::string("m") + GetParam().ending);
  io::save(path, contents(1, one));
  const std::string before = read_bytes(path);
  const size_t size = before.size();
  for (size_t most = 0; most < size; most += most < 64 ? 7 : 61) {
    std::string text;
    with_limit(most, false, [&] { text = error_of([&] { io::save(path, contents(2, one)); }); });
    EXPECT_NE(text.find("File too large; make room or choose another path, nothing was overwritten"), text.npos)
        << most << text;
    ASSERT_EQ(read_bytes(path), before) << most;
    ASSERT_EQ(folder.files(), 1u) << most;
  }
}

// Parts that were whole when a later one failed go again; those of the model that was there stay.
TEST(WritersOfParts, LeaveTheOldFilesWhereAnyWriteFails) {
  const Folder folder;
  const std::string path = folder / "m.safetensors";
  const io::NamedTensors old{{"a", ones({8})}, {"b", ones({64})}, {"c", ones({256})}};
  io::save(path, old, {.max_shard_size = 40});
  const auto content = [&] {
    std::map<std::string, std::string> all;
    for (const auto& file : fs::directory_iterator(folder.path())) all[file.path().native()] = read_bytes(file.path().native());
    return all;
  };
  const auto before = content();
  ASSERT_EQ(before.size(), 4u);
  io::NamedTensors now = old;
  for (auto& [name, t] : now) t = t * 2.0;
  for (size_t most = 0; most < 1100; most += 77) {  // the index is shorter than the last part
    std::string text;
    with_limit(most, false, [&] { text = error_of([&] { io::save(path, now, {.max_shard_size = 40}); }); });
    EXPECT_NE(text.find("File too large"), text.npos) << most << text;
    ASSERT_EQ(content(), before) << most;
  }
  io::save(path, now, {.max_shard_size = 40});
  EXPECT_EQ(folder.files(), 4u);
  EXPECT_TRUE(equal(io::open(path + ".index.json")->get("b"), now[1].second));
}

TEST_P(Writers, LeaveTheOldFileWhereTheProcessDies) {
  const Folder folder;
  const bool one = GetParam().name == std::string_view("npy");
  const std::string path = folder / (std::string("m") + GetParam().ending);
  io::save(path, contents(1, one));
  const std::string before = read_bytes(path);
  for (size_t most = 0; most < before.size(); most += 157) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {  // killed by the signal: nothing of it runs any more
      const rlimit none{0, 0};
      setrlimit(RLIMIT_CORE, &none);
      with_limit(most, true, [&] { io::save(path, contents(2, one)); });
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) << most;
    ASSERT_EQ(read_bytes(path), before) << most;
  }
  io::save(path, contents(3, one));  // over what the dead have left
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_EQ(io::open(path)->get(size_t(0)).view({-1})[5].item<double>(), 3);
}

}  // namespace
}  // namespace dyadic::testing
