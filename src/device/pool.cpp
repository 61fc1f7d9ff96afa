// Small blocks: power-of-two classes up to 64 KiB on thread-local free lists. A block freed by another thread joins that
// thread's list; a thread that ends hands its lists to the next one that runs dry. Under AddressSanitizer plain aligned malloc
// is used, so that every object has its own red zones.
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

#include "device/allocator.h"
#include "device/failure.h"
#include "device/heap.h"

namespace dyadic::inline v1 {
namespace {

constexpr int kClasses = 11;  // 64 B << 0 .. 10
constexpr size_t kSlab = 256 << 10;

struct Block {
  Block* next;
};
[[maybe_unused]] int size_class(size_t bytes) { return bytes <= 64 ? 0 : 64 - std::countl_zero(bytes - 1) - 6; }

std::mutex g_mutex;
Block* g_left[kClasses];  // lists of threads that ended

struct Lists {
  Block* head[kClasses];
  bool registered;
};
constinit thread_local Lists t_lists{};

struct Farewell {
  ~Farewell() {
    std::lock_guard lock(g_mutex);
    for (int c = 0; c < kClasses; ++c)
      while (Block* b = t_lists.head[c]) {
        t_lists.head[c] = b->next;
        b->next = g_left[c];
        g_left[c] = b;
      }
  }
};

[[gnu::noinline, maybe_unused]] void* refill(int c) {
  if (!t_lists.registered) {
    static thread_local Farewell farewell;
    (void)&farewell;
    t_lists.registered = true;
  }
  {
    std::lock_guard lock(g_mutex);
    if (Block* b = g_left[c]) {
      g_left[c] = b->next;
      return b;
    }
  }
  size_t size = size_t(64) << c, slab = size * 4 > kSlab ? size * 4 : kSlab;
  if (c < 6) slab = 64 << 10;
  char* p = static_cast<char*>(heap_allocate(int64_t(slab)));
  for (size_t at = slab - size; at > 0; at -= size) {
    auto* b = reinterpret_cast<Block*>(p + at);
    b->next = t_lists.head[c];
    t_lists.head[c] = b;
  }
  return p;
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
#else
void* pool_allocate(size_t bytes) {
  int c = size_class(bytes);
  if (Block* b = t_lists.head[c]) [[likely]] {
    t_lists.head[c] = b->next;
    return b;
  }
  return refill(c);
}
void pool_release(void* p, size_t bytes) {
  int c = size_class(bytes);
  auto* b = static_cast<Block*>(p);
  b->next = t_lists.head[c];
  t_lists.head[c] = b;
}
#endif

}  // namespace dyadic::inline v1
