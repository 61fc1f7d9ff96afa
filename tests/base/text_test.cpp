// Text, hashes, warnings, the interrupt flag.
#include "base/text.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "base/log.h"
#include "base/sha256.h"
#include "dyadic/error.h"
#include "dyadic/interrupt.h"

namespace dyadic {
namespace {

TEST(Text, Bytes) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1 KiB");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(1048575), "1 MiB");
  EXPECT_EQ(human_bytes(123456789), "118 MiB");
  EXPECT_EQ(human_bytes(-2 << 20), "-2 MiB");
  EXPECT_EQ(human_bytes(std::numeric_limits<int64_t>::max()), "8 EiB");
  EXPECT_EQ(human_bytes(std::numeric_limits<int64_t>::min()), "-8 EiB");
}
TEST(Text, Counts) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(950), "950");
  EXPECT_EQ(human_count(1234), "1.23 k");
  EXPECT_EQ(human_count(85e6), "85 M");
  EXPECT_EQ(human_count(999999), "1 M");
  EXPECT_EQ(human_count(1.2e30), "1.2e+30");
  EXPECT_EQ(human_count(NAN), "nan");
}
TEST(Text, Durations) {
  EXPECT_EQ(human_duration(0), "0 s");
  EXPECT_EQ(human_duration(8.12e-7), "812 ns");
  EXPECT_EQ(human_duration(1.5e-3), "1.5 ms");
  EXPECT_EQ(human_duration(0.9999999), "1 s");
  EXPECT_EQ(human_duration(2.04), "2.04 s");
  EXPECT_EQ(human_duration(59.97), "1 min 00 s");
  EXPECT_EQ(human_duration(185), "3 min 05 s");
  EXPECT_EQ(human_duration(3720), "1 h 02 min");
  EXPECT_EQ(human_duration(2 * 86400 + 3 * 3600 + 59), "2 d 03 h");
  EXPECT_EQ(human_duration(-1.5e-3), "-1.5 ms");
  EXPECT_EQ(human_duration(INFINITY), "inf s");
}
TEST(Text, Nearest) {
  const std::vector<std::string> names = {"matmul", "mean", "softmax", "nf4", "q4_0", "q4_K"};
  EXPECT_EQ(nearest("matmull", names), "matmul");
  EXPECT_EQ(nearest("sofmtax", names), "softmax");
  EXPECT_EQ(nearest("NF4", names), "nf4");
  EXPECT_EQ(nearest("q4_k", names), "q4_K");  // a letter's case is nearer than another letter
  EXPECT_EQ(nearest("", names), "nf4");
  EXPECT_EQ(nearest("x", std::span<const std::string>{}), "");
  const std::vector<std::string_view> views = {"add", "and"};
  EXPECT_EQ(nearest("adn", views), "add");  // a replacement is as near as a swap: the first of equals
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("ab", "ba"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
}
TEST(Text, Join) {
  const std::vector<std::string> parts = {"a", "b", "c"};
  EXPECT_EQ(join(parts, ", "), "a, b, c");
  EXPECT_EQ(join(std::span<const std::string>{}, ", "), "");
}
TEST(Text, DisplayWidth) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("µs ±½"), 5);
  EXPECT_EQ(display_width("精度"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("🙂"), 2);
  EXPECT_EQ(display_width("\xe7\xb2"), 1);  // cut short: no overrun
}
TEST(Text, Table) {
  Table t({"name", "bytes", "note"});
  t.row({"wte", "1.5 MiB", "tied"}).row({"größe", "12 B"}).rule().row({"sum", "-", ""});
  EXPECT_EQ(t.str(),
            "name     bytes  note\n"
            "--------------------\n"
            "wte    1.5 MiB  tied\n"
            "größe     12 B\n"
            "--------------------\n"
            "sum          -\n");
  EXPECT_EQ(t.size(), 4u);
  EXPECT_EQ(Table({"x", "y"}, {Align::right, Align::left}).row({"abc", "1"}).str("  "), "    x  y\n  ------\n  abc  1\n");
  EXPECT_EQ(Table({}).str(), "\n\n");
}

// FIPS 180-4's examples.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 hash;
  for (int i = 0; i < 1000; i++) hash.update(std::string(1000, 'a'));
  EXPECT_EQ(hash.hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(hash.hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");  // asking changes nothing
}
TEST(Sha256, Files) {
  char path[] = "/tmp/dyadic_sha_XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, "abc", 3), 3);
  close(fd);
  EXPECT_EQ(sha256_file(path), sha256_hex("abc"));
  unlink(path);
  try {
    sha256_file("/nonexistent/x");
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_STREQ(e.what(), "sha256: the file can't be opened: path is \"/nonexistent/x\"; No such file or directory");
  }
  EXPECT_THROW(sha256_file("/"), ValueError);  // opens, but can't be read
}

TEST(Log, WarnOnce) {
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(warn_once("the test warns"));
  EXPECT_FALSE(warn_once("the test warns"));
  EXPECT_TRUE(warn_once("another one"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "dyadic: warning: the test warns\ndyadic: warning: another one\n");
}

TEST(Interrupt, FlagAndSecondSignal) {
  EXPECT_FALSE(interrupted());
  install_interrupt_handler();
  install_interrupt_handler();
  raise(SIGINT);
  EXPECT_TRUE(interrupted());
  clear_interrupt();
  EXPECT_FALSE(interrupted());
  raise(SIGTERM);
  EXPECT_TRUE(interrupted());
  clear_interrupt();
  request_interrupt();
  EXPECT_TRUE(interrupted());
  clear_interrupt();
#ifdef __SANITIZE_THREAD__
  remove_interrupt_handler();
  GTEST_SKIP() << "ThreadSanitizer delivers signals late";
#endif
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGINT);
    raise(SIGINT);  // ends it
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
  remove_interrupt_handler();
}

}  // namespace
}  // namespace dyadic
