// Blocks of one to sixteen pages, for what is above the pool's classes and below the heap: the first place that is free, so
// that sizes share what each of them lets go of. No lock: a child of fork() may ask at any time.
#pragma once
#include <cstddef>

namespace dyadic::inline v1 {

inline constexpr size_t kPage = 4096, kMostPages = 16;

void* pages_allocate(size_t bytes);  // OutOfMemoryError
void pages_release(void* p, size_t bytes);
void pages_trim();  // free ones go back to the system; the addresses stay ours

}  // namespace dyadic::inline v1
