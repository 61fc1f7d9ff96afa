#include "base/random.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace dyadic::inline v1 {

namespace {

constexpr int64_t kGrain = 16384;  // 10 us of work or more

template <class T>
void fill(void (*kernel)(uint64_t, uint64_t, uint64_t, int64_t, T*), uint64_t seed, uint64_t stream, int64_t n, T* out) {
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) { kernel(seed, stream, uint64_t(begin), end - begin, out + begin); });
}

// random_below of elements begin + 0, 1 ...: f(i, the element's first 64 bits), and `bits` makes many at once.
template <class F> void for_words(uint64_t seed, uint64_t stream, uint64_t begin, uint64_t end, F&& f) {
  constexpr uint64_t kElements = 512;
  uint32_t words[4 * kElements];
  for (uint64_t i = begin; i < end; i += kElements) {
    const uint64_t n = std::min(kElements, end - i);
    random_kernel().bits(seed, stream, 4 * i, int64_t(4 * n), words);
    for (uint64_t k = 0; k < n; k++) f(i + k, uint64_t(words[4 * k + 1]) << 32 | words[4 * k]);
  }
}
// The word's number below bound; an unlucky word is replaced by the slow way.
uint64_t below(uint64_t seed, uint64_t stream, uint64_t i, uint64_t word, uint64_t bound) {
  const auto product = static_cast<unsigned __int128>(word) * bound;
  if (uint64_t(product) >= bound || uint64_t(product) >= -bound % bound) return uint64_t(product >> 64);
  return random_below(seed, stream, i, bound);
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

void random_integers(uint64_t seed, uint64_t stream, int64_t n, int64_t low, uint64_t bound, int64_t* out) {
  DY_CHECK_AS(ValueError, bound > 0, "random_integers: there is no number below zero: bound is 0");
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    for_words(seed, stream, uint64_t(begin), uint64_t(end),
              [&](uint64_t i, uint64_t word) { out[i] = int64_t(uint64_t(low) + below(seed, stream, i, word, bound)); });
  });
}

void random_permutation(uint64_t seed, uint64_t stream, int64_t n, int64_t* out) {
  std::iota(out, out + n, int64_t(0));
  // From the last place down, its words from a block of places at a time.
  constexpr int64_t kPlaces = 512;
  uint64_t place[kPlaces];
  for (int64_t end = n + 1; end > 2;) {
    const int64_t begin = std::max<int64_t>(2, end - kPlaces);
    for_words(seed, stream, uint64_t(begin), uint64_t(end),
              [&](uint64_t i, uint64_t word) { place[int64_t(i) - begin] = below(seed, stream, i, word, i); });
    for (int64_t i = end - 1; i >= begin; i--) std::swap(out[i - 1], out[place[i - begin]]);
    end = begin;
  }
}

}  // namespace dyadic::inline v1
