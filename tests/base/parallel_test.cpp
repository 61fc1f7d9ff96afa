// parallel_for: coverage, grain, nesting, exceptions, several callers at once.
#include "base/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"

namespace dyadic {
namespace {

class Parallel : public ::testing::TestWithParam<int> {
  int before_ = num_threads();

 protected:
  void SetUp() override { set_num_threads(GetParam()); }
  void TearDown() override { set_num_threads(before_); }
};
INSTANTIATE_TEST_SUITE_P(Threads, Parallel, ::testing::Values(1, 2, 3, 7));

TEST_P(Parallel, CoversEveryIndexOnce) {
  for (int64_t n : {0, 1, 2, 3, 10, 64, 1000, 4097})
    for (int64_t grain : {-5, 0, 1, 3, 64, 1000, 5000}) {
      std::vector<std::atomic<int>> seen(n);
      std::mutex mutex;
      int short_pieces = 0;
      parallel_for(n, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) seen[i]++;
        std::lock_guard lock(mutex);
        EXPECT_LT(begin, end);
        if (end - begin < grain) {
          short_pieces++;
          EXPECT_EQ(end, n);  // only the last piece may be shorter than the grain
        }
      });
      for (int64_t i = 0; i < n; i++) ASSERT_EQ(seen[i], 1) << n << " " << grain << " " << i;
      EXPECT_LE(short_pieces, 1);
    }
}
TEST_P(Parallel, EachIndexOnce) {
  for (int64_t n : {0, 1, 2, 5, 333}) {
    std::vector<std::atomic<int>> seen(n);
    parallel_each(n, [&](int64_t i) { seen[i]++; });
    for (int64_t i = 0; i < n; i++) ASSERT_EQ(seen[i], 1);
  }
}
TEST_P(Parallel, KnowsItsThreads) {
  EXPECT_FALSE(in_parallel());
  EXPECT_EQ(thread_index(), 0);
  std::vector<std::atomic<int>> used(num_threads());
  parallel_each(200, [&](int64_t) {
    EXPECT_EQ(in_parallel(), num_threads() > 1);
    ASSERT_GE(thread_index(), 0);
    ASSERT_LT(thread_index(), num_threads());
    EXPECT_EQ(used[thread_index()]++, 0);  // one thread per index at any time
    std::this_thread::yield();
    used[thread_index()]--;
  });
  EXPECT_FALSE(in_parallel());
}
TEST_P(Parallel, NestedRunsSerially) {
  std::atomic<int> inner{0};
  parallel_each(8, [&](int64_t) {
    const int index = thread_index();
    const auto self = std::this_thread::get_id();
    parallel_for(100, 1, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(std::this_thread::get_id() == self || !in_parallel(), true);
      EXPECT_EQ(thread_index(), index);
      inner += int(end - begin);
    });
  });
  EXPECT_EQ(inner, 800);
}
TEST_P(Parallel, FirstExceptionByIndex) {
  for (int round = 0; round < 50; round++) {
    std::string text;
    try {
      parallel_each(200, [&](int64_t i) {
        if (i % 3 == 2 && i > 40) throw std::runtime_error(std::to_string(i));
      });
    } catch (const std::runtime_error& e) { text = e.what(); }
    EXPECT_EQ(text, "41");
  }
  EXPECT_FALSE(in_parallel());
  std::atomic<int> after{0};
  parallel_each(100, [&](int64_t) { after++; });
  EXPECT_EQ(after, 100);
}
TEST_P(Parallel, SeveralCallersAtOnce) {
  std::vector<std::thread> callers;
  std::vector<int64_t> sums(4);
  for (int c = 0; c < 4; c++)
    callers.emplace_back([&, c] {
      for (int round = 0; round < 200; round++) {
        std::atomic<int64_t> sum{0};
        parallel_for(1000, 10, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; i++) sum += i;
        });
        sums[c] += sum;
      }
    });
  for (auto& t : callers) t.join();
  for (int64_t s : sums) EXPECT_EQ(s, 200 * 499500);
}
TEST_P(Parallel, ManyShortRegions) {
  int64_t total = 0;
  for (int round = 0; round < 3000; round++) {
    int64_t part[4] = {};
    parallel_each(4, [&](int64_t i) { part[i] = round + i; });
    total += part[0] + part[1] + part[2] + part[3];
    if (round % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // until the others sleep
  }
  EXPECT_EQ(total, 4 * (3000ll * 2999 / 2) + 3000 * 6);
}

TEST(Threads, CountMustBePositive) {
  auto text = [](int n) {
    try {
      set_num_threads(n);
    } catch (const ValueError& e) { return std::string(e.what()); }
    return std::string();
  };
  EXPECT_EQ(text(0), "set_num_threads: at least one thread is needed: n is 0");
  EXPECT_EQ(text(-3), "set_num_threads: at least one thread is needed: n is -3");
  EXPECT_EQ(text(100000), "set_num_threads: more than 4096 threads: n is 100000; the number of cores is the useful limit");
}

// A fresh process of this very program, which reports its instruction set or number of threads and ends.
std::string in_fresh_process(const std::string& environment, const std::string& what) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0) return "no /proc";
  self[length] = 0;
  const std::string command = environment + " env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX DYADIC_TEST_REPORT=" + what +
                              " '" + self + "' --gtest_filter=Report.DISABLED_Process --gtest_also_run_disabled_tests 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  char buffer[256];
  while (size_t n = fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
  pclose(pipe);
  const size_t at = out.find("report<");
  return at == std::string::npos
             ? out
             : out.substr(at + 7, out.find('>') - at - 7) + (out.find("is ignored") < out.size() ? " ignored" : "");
}
// The process that in_fresh_process starts: this program, with this test alone.
TEST(Report, DISABLED_Process) {
  const char* what = std::getenv("DYADIC_TEST_REPORT");
  ASSERT_TRUE(what);
  std::printf("report<%s>\n", std::string(what) == "isa" ? isa_name() : std::to_string(num_threads()).c_str());
}
TEST(Isa, EnvironmentLowersIt) {
  const std::string best = in_fresh_process("DYADIC_ISA=", "isa");
  EXPECT_TRUE(best == "sse4" || best == "avx2" || best == "avx512") << best;
  EXPECT_EQ(in_fresh_process("DYADIC_ISA=mmx", "isa"), best + " ignored");
  for (const Isa lower : {Isa::sse4, Isa::avx2}) {
    if (lower == Isa::avx2 && best == "sse4") continue;
    const std::string name = lower == Isa::sse4 ? "sse4" : "avx2";
    EXPECT_EQ(in_fresh_process("DYADIC_ISA=" + name, "isa"), is_built(lower) ? name : best + " ignored");
  }
}
TEST(Isa, ExtensionsBelongToAvx512) {
  if (isa() != Isa::avx512) {
    EXPECT_FALSE(has_avx512_bf16());
    EXPECT_FALSE(has_avx512_vnni());
  }
  EXPECT_EQ(std::string(isa_name()), isa() == Isa::avx512 ? "avx512" : isa() == Isa::avx2 ? "avx2" : "sse4");
}
TEST(Threads, DefaultFollowsTheEnvironment) {
  EXPECT_EQ(in_fresh_process("OMP_NUM_THREADS=5", "threads"), "5");
  EXPECT_EQ(in_fresh_process("OMP_NUM_THREADS=3,2", "threads"), "3");
  EXPECT_EQ(in_fresh_process("OMP_NUM_THREADS= taskset -c 0", "threads"), "1");
}

TEST(Check, AssertionsAreExceptions) {
  try {
    assertion_failed("a < b", "src/x.cpp", 12);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "internal error: a < b does not hold at src/x.cpp:12; please report this");
  }
}

}  // namespace
}  // namespace dyadic
