#include "plugins/cuda/sim/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace dyadic::gpu::sim {

Memory::Memory(int64_t bytes) : total_(bytes), free_(bytes) {
  void* p = mmap(nullptr, size_t(total_ * kRoom), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<char*>(p);
  end_ = begin_ + total_ * kRoom;
}
Memory::~Memory() { munmap(begin_, size_t(total_ * kRoom)); }

char* Memory::find_place(int64_t bytes) {
  char* const at = taken_.empty() ? begin_ : std::prev(taken_.end())->first + std::prev(taken_.end())->second;
  if (end_ - at >= bytes) return at;
  char* hole = begin_;
  for (const auto& [p, n] : taken_) {
    if (p - hole >= bytes) return hole;
    hole = p + n;
  }
  return nullptr;
}

void* Memory::take(int64_t bytes) {
  if (bytes > free_) return nullptr;
  char* const p = find_place(bytes);
  if (!p || mprotect(p, size_t(bytes), PROT_READ | PROT_WRITE)) return nullptr;
  if (total_ - free_ < kFilled) std::memset(p, 0xff, size_t(bytes));
  if (!open_) mprotect(p, size_t(bytes), PROT_NONE);
  taken_[p] = bytes;
  free_ -= bytes;
  return p;
}

void Memory::give(void* p, int64_t bytes) {
  mprotect(p, size_t(bytes), PROT_NONE);
  madvise(p, size_t(bytes), MADV_DONTNEED);
  taken_.erase(static_cast<char*>(p));
  free_ += bytes;
}

void Memory::open(bool yes) {
  open_ = yes;
  for (auto it = taken_.begin(); it != taken_.end();) {  // a call for all that lie side by side
    char *const from = it->first, *to = from;
    for (; it != taken_.end() && it->first == to; ++it) to += it->second;
    mprotect(from, size_t(to - from), yes ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
}

}  // namespace dyadic::gpu::sim
