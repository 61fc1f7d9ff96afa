#include "plugins/cuda/sim/memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace dyadic::gpu::sim {

Memory::Memory(int64_t bytes) : total_(bytes), free_(bytes) {
  all_ = mmap(nullptr, size_t(total_ * kRoom), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all_ == MAP_FAILED) throw std::bad_alloc();
  addresses_.reserve(all_, total_ * kRoom);
}
Memory::~Memory() { munmap(all_, size_t(total_ * kRoom)); }

void* Memory::take(int64_t bytes) {
  if (bytes > free_) return nullptr;
  char* const p = addresses_.find(bytes);
  if (!p || mprotect(p, size_t(bytes), PROT_READ | PROT_WRITE)) return nullptr;
  if (total_ - free_ < kFilled) std::memset(p, 0xff, size_t(bytes));
  if (!open_) mprotect(p, size_t(bytes), PROT_NONE);
  addresses_.take(p, bytes);
  free_ -= bytes;
  return p;
}

void Memory::give(void* p, int64_t bytes) {
  mprotect(p, size_t(bytes), PROT_NONE);
  madvise(p, size_t(bytes), MADV_DONTNEED);
  addresses_.give(p);
  free_ += bytes;
}

void Memory::move(void* p, int64_t bytes, void* to) {
  constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mremap(p, size_t(bytes), size_t(bytes), MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED ||
      mmap(p, size_t(bytes), PROT_NONE, kReserved, -1, 0) == MAP_FAILED)
    throw std::bad_alloc();
  addresses_.give(p);
  addresses_.take(static_cast<char*>(to), bytes);
}

void Memory::open(bool yes) {
  open_ = yes;
  addresses_.each_run([&](void* p, int64_t bytes) { mprotect(p, size_t(bytes), yes ? PROT_READ | PROT_WRITE : PROT_NONE); });
}

}  // namespace dyadic::gpu::sim
