// Small blocks: classes up to 4 KiB on thread-local free lists. A block freed by another thread joins that thread's list; a
// thread that ends hands its lists to the next one that runs dry. Slabs that are wholly free go back to the pages they came
// from when they are asked for; what is above the classes does whenever it is freed. Under AddressSanitizer plain aligned
// malloc is used, so that every object has its own red zones.
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "device/allocator.h"
#include "device/failure.h"
#include "device/heap.h"
#include "device/pages.h"

namespace dyadic::inline v1 {
namespace {

constexpr uint16_t kBytes[] = {64,  128,  192,  256,  320,  384,  448,  512,  640,  768,
                               896, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096};
constexpr int kClasses = int(std::size(kBytes));
constexpr size_t kMost = kBytes[kClasses - 1];
constexpr auto kClassOf = [] {  // by the 64 bytes that are begun
  std::array<uint8_t, kMost / 64 + 1> of{};
  for (size_t i = 0, c = 0; i < of.size(); of[i++] = uint8_t(c)) c += i * 64 > kBytes[c];
  return of;
}();

struct Block {
  Block* next;
};

constexpr size_t kSlab = 4 * kPage;  // larger ones are seldom wholly free
constexpr size_t block_bytes(int c) { return kBytes[c]; }
constexpr size_t slab_bytes(int c) { return kSlab / block_bytes(c) * block_bytes(c); }  // in use

std::mutex g_mutex;
Block* g_left[kClasses];  // lists of threads that ended
[[maybe_unused]] std::vector<char*> g_slabs[kClasses];

// A child of fork() has the forking thread alone: none of the others may hold a lock then that nobody would give back there.
void hold_locks() { g_mutex.lock(), heap_lock(); }
void drop_locks() { heap_unlock(), g_mutex.unlock(); }
[[maybe_unused]] const int g_over_fork = pthread_atfork(hold_locks, drop_locks, drop_locks);

struct Lists {
  Block* head[kClasses];
  char *fresh[kClasses], *end[kClasses];  // of the newest slab: blocks that nobody has had, whose pages so are not there yet
  bool registered;
};
constinit thread_local Lists t_lists{};

struct Farewell {
  ~Farewell() {
    std::lock_guard lock(g_mutex);
    for (int c = 0; c < kClasses; ++c) {
      const auto leave = [c](void* p) {
        auto* b = static_cast<Block*>(p);
        b->next = g_left[c];
        g_left[c] = b;
      };
      while (Block* b = t_lists.head[c]) {
        t_lists.head[c] = b->next;
        leave(b);
      }
      for (char*& p = t_lists.fresh[c]; p != t_lists.end[c]; p += block_bytes(c)) leave(p);
    }
  }
};

[[maybe_unused]] void keep_slab(int c, char* p) {
  std::lock_guard lock(g_mutex);
  try {
    g_slabs[c].push_back(p);
  } catch (...) {
    pages_release(p, kSlab);
    throw;
  }
}

[[gnu::noinline, maybe_unused]] void* refill(int c) {
  if (!t_lists.registered) {
    static thread_local Farewell farewell;
    (void)&farewell;
    t_lists.registered = true;
  }
  char *&fresh = t_lists.fresh[c], *&end = t_lists.end[c];
  if (fresh == end) {
    {
      std::lock_guard lock(g_mutex);
      if (Block* b = g_left[c]) {
        g_left[c] = b->next;
        return b;
      }
    }
    char* slab = static_cast<char*>(pages_allocate(kSlab));
    keep_slab(c, slab);
    fresh = slab, end = slab + slab_bytes(c);
  }
  return std::exchange(fresh, fresh + block_bytes(c));
}

}  // namespace

#if DY_ASAN
void* pool_allocate(size_t bytes) {
  may_fail(int64_t(bytes));
  void* p = std::aligned_alloc(64, (bytes + 63) & ~size_t(63));
  if (!p) throw std::bad_alloc();
  return p;
}
void pool_release(void* p, size_t) { std::free(p); }
void pool_trim() {}
#else
void* pool_allocate(size_t bytes) {
  const size_t begun = (bytes + 63) / 64;
  if (begun >= kClassOf.size()) [[unlikely]]
    return pages_allocate(bytes);
  const size_t c = kClassOf[begun];
  Block*& head = t_lists.head[c];
  Block* const b = head;
  if (!b) [[unlikely]]
    return refill(int(c));
  head = b->next;
  return b;
}
void pool_release(void* p, size_t bytes) {
  const size_t begun = (bytes + 63) / 64;
  if (begun >= kClassOf.size()) [[unlikely]]
    return pages_release(p, bytes);
  Block*& head = t_lists.head[kClassOf[begun]];
  auto* b = static_cast<Block*>(p);
  b->next = head;
  head = b;
}
void pool_trim() {
  std::lock_guard lock(g_mutex);
  for (int c = 0; c < kClasses; ++c) {
    std::vector<char*> blocks, &slabs = g_slabs[c];
    for (Block* list : {t_lists.head[c], g_left[c]})
      for (; list; list = list->next) blocks.push_back(reinterpret_cast<char*>(list));
    std::sort(blocks.begin(), blocks.end(), std::less<>());
    std::sort(slabs.begin(), slabs.end(), std::less<>());
    t_lists.head[c] = g_left[c] = nullptr;
    char *&fresh = t_lists.fresh[c], *&end = t_lists.end[c];
    auto at = blocks.begin();
    std::erase_if(slabs, [&](char* slab) {
      const bool newest = fresh != end && slab + slab_bytes(c) == end;
      const auto from = at;
      at = std::lower_bound(from, blocks.end(), slab + slab_bytes(c), std::less<>());
      if (size_t(at - from) * block_bytes(c) + size_t(newest ? end - fresh : 0) == slab_bytes(c)) {
        if (newest) fresh = end = nullptr;
        pages_release(slab, kSlab);
        return true;
      }
      for (auto b = from; b != at; ++b) pool_release(*b, block_bytes(c));
      return false;
    });
  }
  pages_trim();
}
#endif

}  // namespace dyadic::inline v1
