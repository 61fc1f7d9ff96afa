// Every fuzz entry on its seeds, whole, cut short and with a bit turned: what libFuzzer begins with never fails.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "tests/fuzz/fuzz.h"
#include "tests/test_data.h"

namespace dyadic::testing {

FuzzEntry*& fuzz_entries() {
  static FuzzEntry* first = nullptr;
  return first;
}

namespace {

void run(const FuzzEntry& entry, const std::string& bytes) {
  entry.run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

TEST(Fuzz, SeedsAreReplayed) {
  namespace fs = std::filesystem;
  int entries = 0;
  for (const FuzzEntry* e = fuzz_entries(); e; e = e->next, ++entries) {
    int seeds = 0;
    for (const auto& file : fs::recursive_directory_iterator(test_data(e->seeds))) {
      constexpr uintmax_t kLargest = 1 << 18;
      if (!file.is_regular_file() || file.file_size() > kLargest) continue;
      std::ifstream in(file.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      SCOPED_TRACE(std::string(e->name) + " on " + file.path().native());
      EXPECT_NO_THROW(run(*e, bytes));
      for (uint64_t k = 0; k < 16 && !bytes.empty(); ++k) {
        std::string damaged = bytes.substr(0, size_t(random_below(1, k, 0, bytes.size())));
        EXPECT_NO_THROW(run(*e, damaged));
        damaged = bytes;
        damaged[size_t(random_below(2, k, 0, std::min<uint64_t>(bytes.size(), 512)))] ^= char(1 << k % 8);
        EXPECT_NO_THROW(run(*e, damaged));
      }
      ++seeds;
    }
    EXPECT_GT(seeds, 0) << e->name << " has no seeds below tests/" << e->seeds;
  }
  EXPECT_GE(entries, 2);
}

}  // namespace
}  // namespace dyadic::testing
