#include "device/heap.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <set>

#include "base/check.h"

namespace dyadic::inline v1 {
namespace {

constexpr int64_t kRegion = int64_t(1) << 30;  // address space reserved at a time; pages come on first touch
constexpr int64_t kHuge = 2 << 20;

// Address space is granted for more than there is; whoever writes all of it is killed.
void check_machine_has(int64_t bytes) {
  static const int64_t all = [] {
    struct sysinfo s{};
    return sysinfo(&s) ? INT64_MAX : int64_t(s.totalram + s.totalswap) * int64_t(s.mem_unit);
  }();
  DY_CHECK_AS(OutOfMemoryError, bytes <= all, "out of memory: {} bytes are asked for; this machine has {} in all", bytes, all);
}

// A result of 64 MB in fresh 4 KiB pages costs 17 ms of page faults, in huge pages 4, in recycled pages 2.7: hence madvise in
// reserve_addresses, and no unmapping on release.
class Heap {
  std::mutex mutex_;
  std::map<char*, int64_t> free_;                // by address, for coalescing
  std::set<std::pair<int64_t, char*>> by_size_;  // by size, then address: deterministic best fit

  // Both or, where the lists themselves find no memory (std::bad_alloc), neither.
  void insert(char* p, int64_t n) {
    const auto at = free_.emplace(p, n).first;
    try {
      by_size_.emplace(n, p);
    } catch (...) {
      free_.erase(at);
      throw;
    }
  }
  void erase(std::map<char*, int64_t>::iterator it) {
    by_size_.erase({it->second, it->first});
    free_.erase(it);
  }
  void reserve(int64_t bytes) {
    check_machine_has(bytes);
    int64_t n = (std::max(bytes, kRegion) + kHuge - 1) / kHuge * kHuge;
    char* start = reserve_addresses(n);
    while (!start && n > bytes) {  // less than a region, at last what is asked for alone
      n = std::max(n / 2, bytes);
      start = reserve_addresses(n);
    }
    DY_CHECK_AS(OutOfMemoryError, start, "out of memory: the system refused {} bytes", bytes);
    insert(start, n / kHeapGrain * kHeapGrain);
  }

 public:
  void* allocate(int64_t bytes) {
    std::lock_guard lock(mutex_);
    auto it = by_size_.lower_bound({bytes, nullptr});
    if (it == by_size_.end()) {
      reserve(bytes);
      it = by_size_.lower_bound({bytes, nullptr});
    }
    auto [n, p] = *it;
    erase(free_.find(p));
    if (n > bytes) insert(p + bytes, n - bytes);
    return p;
  }
  void release(void* pointer, int64_t bytes) {
    std::lock_guard lock(mutex_);
    char* p = static_cast<char*>(pointer);
    auto after = free_.lower_bound(p);
    if (after != free_.end() && after->first == p + bytes) {
      bytes += after->second;
      erase(after++);
    }
    if (after != free_.begin()) {
      auto before = std::prev(after);
      if (before->first + before->second == p) {
        p = before->first;
        bytes += before->second;
        erase(before);
      }
    }
    try {
      insert(p, bytes);
    } catch (const std::bad_alloc&) { madvise(p, size_t(bytes), MADV_DONTNEED); }  // nobody can be told: the address is lost
  }
  std::mutex& mutex() { return mutex_; }
  void trim() {
    std::lock_guard lock(mutex_);
    for (auto [p, n] : free_) madvise(p, size_t(n), MADV_DONTNEED);
  }
};

[[maybe_unused]] Heap& heap() {
  static Heap* h = new Heap;  // outlives every tensor of a static
  return *h;
}

}  // namespace

char* reserve_addresses(int64_t bytes) {
  void* p = mmap(nullptr, size_t(bytes + kHuge), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  char* start = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(p) + kHuge - 1) & ~uintptr_t(kHuge - 1));
  madvise(start, size_t(bytes), MADV_HUGEPAGE);
  return start;
}

#if DY_ASAN
void* heap_allocate(int64_t bytes) {
  void* p = std::aligned_alloc(64, size_t(bytes));
  DY_CHECK_AS(OutOfMemoryError, p, "out of memory: the system refused {} bytes", bytes);
  return p;
}
void heap_release(void* p, int64_t) { std::free(p); }
void heap_trim() {}
void heap_lock() {}
void heap_unlock() {}
#else
void* heap_allocate(int64_t bytes) { return heap().allocate(bytes); }
void heap_release(void* p, int64_t bytes) { heap().release(p, bytes); }
void heap_trim() { heap().trim(); }
void heap_lock() { heap().mutex().lock(); }
void heap_unlock() { heap().mutex().unlock(); }
#endif

}  // namespace dyadic::inline v1
