#include "base/random.h"

#include "base/check.h"

namespace dyadic::inline v1 {

namespace {

constexpr int64_t kGrain = 16384;  // 10 us of work or more

template <class T>
void fill(void (*kernel)(uint64_t, uint64_t, uint64_t, int64_t, T*), uint64_t seed, uint64_t stream, int64_t n, T* out) {
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) { kernel(seed, stream, uint64_t(begin), end - begin, out + begin); });
}

}  // namespace

void random_uniform(uint64_t seed, uint64_t stream, int64_t n, float* out) {
  fill(random_kernel().uniform_f32, seed, stream, n, out);
}
void random_uniform(uint64_t seed, uint64_t stream, int64_t n, double* out) {
  fill(random_kernel().uniform_f64, seed, stream, n, out);
}
void random_normal(uint64_t seed, uint64_t stream, int64_t n, float* out) {
  fill(random_kernel().normal_f32, seed, stream, n, out);
}
void random_normal(uint64_t seed, uint64_t stream, int64_t n, double* out) {
  fill(random_kernel().normal_f64, seed, stream, n, out);
}

uint64_t random_below(uint64_t seed, uint64_t stream, uint64_t i, uint64_t bound) {
  DY_CHECK_AS(ValueError, bound > 0, "random_below: there is no number below zero: bound is 0");
  // The block's second half serves when its first is rejected (at worst every second draw); then other blocks, far from those
  // that count elements. Each further block is needed with probability 1/4 at worst.
  for (uint64_t attempt = 0;; attempt++) {
    PhiloxBlock b = philox(i, stream ^ attempt << 56, seed);
    for (int half = 0; half < 4; half += 2) {
      uint64_t word = uint64_t(b[half + 1]) << 32 | b[half];
      auto product = static_cast<unsigned __int128>(word) * bound;
      if (uint64_t(product) >= -bound % bound) return uint64_t(product >> 64);
    }
  }
}

}  // namespace dyadic::inline v1
