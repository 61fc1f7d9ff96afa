#include "device/pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "device/heap.h"

namespace dyadic::inline v1 {
namespace {

// Address space is reserved once, and a bit of g_taken stands for a page of it. What finds no place there is the heap's.
constexpr size_t kChunks = 1 << 14, kChunk = 64 * kPage;
static_assert(kMostPages * kPage == size_t(kSmallLimit) && kPage == size_t(kHeapGrain));
std::atomic<uint64_t> g_taken[kChunks];
// By the number of pages: none are free in a row before this chunk, so more of them neither. Threads that pass each other may
// leave one too high until something there is freed again, or all is trimmed: that costs room, nothing else.
std::atomic<size_t> g_first[kMostPages + 1];
std::atomic<size_t> g_end{1};  // beyond all chunks that were ever in use

char* base() {
  static char* const at = reserve_addresses(int64_t(kChunks * kChunk));
  return at;
}

void none_before(size_t chunk, size_t n) {
  for (; n <= kMostPages && g_first[n].load(std::memory_order_relaxed) < chunk; ++n)
    g_first[n].store(chunk, std::memory_order_relaxed);
}

size_t pages_of(size_t bytes) { return (bytes + kPage - 1) / kPage; }

// Where `n` free pages in a row begin, a bit each.
uint64_t beginnings(uint64_t free, size_t n) {
  for (size_t have = 1; have < n && free;) {
    const size_t more = std::min(have, n - have);
    free &= free >> more;
    have += more;
  }
  return free;
}

}  // namespace

void* pages_allocate(size_t bytes) {
  const size_t n = pages_of(bytes);
  char* const start = base();
  for (size_t i = g_first[n].load(std::memory_order_relaxed); start && i < kChunks; ++i) {
    uint64_t taken = g_taken[i].load(std::memory_order_relaxed);
    while (const uint64_t from = beginnings(~taken, n)) {
      const int at = std::countr_zero(from);
      if (!g_taken[i].compare_exchange_weak(taken, taken | ((uint64_t(1) << n) - 1) << at, std::memory_order_acquire)) continue;
      none_before(i, n);
      for (size_t end = g_end.load(std::memory_order_relaxed);
           i >= end && !g_end.compare_exchange_weak(end, i + 1, std::memory_order_relaxed);) {}
      return start + i * kChunk + size_t(at) * kPage;
    }
  }
  none_before(kChunks, n);
  return heap_allocate(int64_t(n * kPage));
}

void pages_release(void* p, size_t bytes) {
  const size_t n = pages_of(bytes), offset = size_t(static_cast<char*>(p) - base()), i = offset / kChunk;
  if (!base() || i >= kChunks) return heap_release(p, int64_t(n * kPage));
  g_taken[i].fetch_and(~(((uint64_t(1) << n) - 1) << (offset % kChunk / kPage)), std::memory_order_release);
  for (size_t k = kMostPages; k > 0 && g_first[k].load(std::memory_order_relaxed) > i; --k)
    g_first[k].store(i, std::memory_order_relaxed);
}

void pages_trim() {
  for (size_t i = 0, end = base() ? g_end.load() : 0; i < end; ++i) {
    uint64_t free = ~g_taken[i].exchange(~uint64_t(0), std::memory_order_acquire);  // nobody gets them meanwhile
    const uint64_t all = free;
    while (free) {
      const int at = std::countr_zero(free), n = std::countr_one(free >> at);
      madvise(base() + i * kChunk + size_t(at) * kPage, size_t(n) * kPage, MADV_DONTNEED);
      free &= n == 64 ? 0 : ~(((uint64_t(1) << n) - 1) << at);
    }
    g_taken[i].fetch_and(~all, std::memory_order_release);
  }
  for (std::atomic<size_t>& first : g_first)
    first.store(0, std::memory_order_relaxed);  // who passed by meanwhile saw none free
}

}  // namespace dyadic::inline v1
