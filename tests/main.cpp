// main() of the test programs. With --gtest_brief=1 only failures are printed, then one line of counts: GoogleTest's own brief
// printer also shows the reason of every skipped test, and hundreds of those hide the one failure.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/parallel.h"
#include "tests/test_data.h"

std::string test_data(std::string_view path) { return std::string(DYADIC_TEST_DATA "/").append(path); }

namespace {

class FailuresOnly : public ::testing::EmptyTestEventListener {
  const ::testing::TestInfo* now_ = nullptr;  // UnitTest's own answer waits for the lock that is held while a part is reported
  void OnTestStart(const ::testing::TestInfo& info) override { now_ = &info; }
  void OnTestEnd(const ::testing::TestInfo&) override { now_ = nullptr; }
  void OnTestPartResult(const ::testing::TestPartResult& part) override {
    if (!part.failed()) return;
    if (now_) std::printf("%s.%s\n", now_->test_suite_name(), now_->name());
    std::printf("%s:%d: %s\n\n", part.file_name() ? part.file_name() : "unknown file", part.line_number(), part.message());
    std::fflush(stdout);
  }
  void OnTestProgramEnd(const ::testing::UnitTest& all) override {
    for (int i = 0; i < all.total_test_suite_count(); ++i)
      for (int j = 0; j < all.GetTestSuite(i)->total_test_count(); ++j)
        if (const auto* info = all.GetTestSuite(i)->GetTestInfo(j); info->result()->Failed())
          std::printf("failed: %s.%s\n", info->test_suite_name(), info->name());
    std::printf("%d tests passed, %d failed, %d skipped (%.1f s)\n", all.successful_test_count(), all.failed_test_count(),
                all.skipped_test_count(), double(all.elapsed_time()) / 1e3);
  }
};

// TempDir() is this process's: the tests run once for each instruction set, side by side.
class OwnTempDir {
  std::string path_ = ::testing::TempDir() + "dyadic_tests_XXXXXX";

 public:
  OwnTempDir() {
    if (!mkdtemp(path_.data())) std::abort();
    setenv("TEST_TMPDIR", path_.c_str(), 1);
  }
  ~OwnTempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(brief)) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  // What this processor has not, has been said by now: programs that the tests start need not say it again.
  if (const char* wanted = std::getenv("DYADIC_ISA"); wanted && dyadic::isa_name() != std::string_view(wanted))
    unsetenv("DYADIC_ISA");
  const OwnTempDir own;
  return RUN_ALL_TESTS();
}
