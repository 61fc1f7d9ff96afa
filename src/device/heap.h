// Large blocks: best fit with coalescing over big reserved regions backed by huge pages, so that what the process holds stays
// close to what the ledger says.
#pragma once
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define DY_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DY_ASAN 1
#endif
#endif

namespace dyadic::inline v1 {

inline constexpr int64_t kSmallLimit = 64 << 10;  // requests up to here come from the pool
inline constexpr int64_t kHeapGrain = 4096;       // larger ones are multiples of this

char* reserve_addresses(int64_t bytes);  // from a huge page's beginning on, pages come on first touch; null: none are left

void* heap_allocate(int64_t bytes);  // bytes a multiple of kHeapGrain; OutOfMemoryError
void heap_release(void* p, int64_t bytes);
void heap_trim();    // free pages go back to the system; the addresses stay ours
void heap_lock();    // from here to heap_unlock() no other thread is in it: around fork()
void heap_unlock();  // by the same thread

}  // namespace dyadic::inline v1
