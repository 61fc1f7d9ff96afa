// Blocks of whole pages: none lies in another, whoever frees them, and what one size lets go of another gets.
#include "device/pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace dyadic::inline v1 {
namespace {

struct Pages {
  unsigned char* at;
  size_t bytes;
  unsigned char mark;
};

bool is_marked(const Pages& b) {
  for (size_t i = 0; i < b.bytes; i += 512)
    if (b.at[i] != b.mark) return false;
  return b.at[b.bytes - 1] == b.mark;
}

TEST(Pages, NoneLiesInAnother) {
  std::vector<std::vector<Pages>> left(4);  // freed by another thread than made them
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (size_t t = 0; t < left.size(); ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random{unsigned(t)};
      std::vector<Pages>& mine = left[t];
      for (int i = 0; i < 20'000; ++i) {
        if (mine.size() > 100 || (!mine.empty() && random() % 2)) {
          std::swap(mine[random() % mine.size()], mine.back());
          wrong += !is_marked(mine.back());
          pages_release(mine.back().at, mine.back().bytes);
          mine.pop_back();
          continue;
        }
        const size_t bytes = 1 + random() % (kMostPages * kPage);
        mine.push_back({static_cast<unsigned char*>(pages_allocate(bytes)), bytes, static_cast<unsigned char>(random())});
        wrong += reinterpret_cast<uintptr_t>(mine.back().at) % 64 != 0;
        std::memset(mine.back().at, mine.back().mark, bytes);
        if (t == 0 && i % 1000 == 0) pages_trim();
      }
    });
  for (std::thread& t : threads) t.join();
  for (const std::vector<Pages>& mine : left)
    for (const Pages& b : mine) {
      wrong += !is_marked(b);
      pages_release(b.at, b.bytes);
    }
  EXPECT_EQ(wrong, 0);
}

TEST(Pages, SizesShareWhatIsFree) {
  std::vector<char*> small, large;
  for (int i = 0; i < 256; ++i) small.push_back(static_cast<char*>(pages_allocate(4 * kPage)));
  const auto [first, last] = std::minmax_element(small.begin(), small.end());
  const char *low = *first, *high = *last;
  for (char* p : small) pages_release(p, 4 * kPage);
  for (int i = 0; i < 64; ++i) large.push_back(static_cast<char*>(pages_allocate(16 * kPage)));
  int beyond = 0;
  for (char* p : large) beyond += p < low ? 0 : p > high;
  for (char* p : large) pages_release(p, 16 * kPage);
  EXPECT_LE(beyond, 4);  // a chunk that others hold a part of has room for three only
}

}  // namespace
}  // namespace dyadic::inline v1
