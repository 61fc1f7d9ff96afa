#include "ops/nn/rotary_embedding_kernel.h"

#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kGrain = 16384;  // elements
constexpr int64_t kPairs = 512;    // turned at once

struct RowPlace {
  int64_t x = 0, cosine = 0, sine = 0;
};
RowPlace place_of(const RotaryRows& p, int64_t row) {
  RowPlace at;
  for (int d = p.ndim - 1; d >= 0; d--) {
    const int64_t i = row % p.sizes[d];
    at.x += i * p.x[d], at.cosine += i * p.cosine[d], at.sine += i * p.sine[d];
    row /= p.sizes[d];
  }
  return at;
}

template <class T> void turn_as(const RotaryRows& p, Source x, Source cosine, Source sine, Target y) {
  using V = Vec<T>;
  parallel_for(p.rows, max_of(1, kGrain / max_of(p.width, 1)), [&](int64_t begin, int64_t end) {
    alignas(64) T left[kPairs], right[kPairs], cosines[kPairs], sines[kPairs], to_left[kPairs], to_right[kPairs];
    for (int64_t r = begin; r < end; r++) {
      const RowPlace at = place_of(p, r);
      const int64_t to = r * p.width;
      for (int64_t i = 0; i < p.pairs; i += kPairs) {
        const int64_t n = min_of(kPairs, p.pairs - i);
        const T *a = read_tile(x, at.x + i, n, left), *b = read_tile(x, at.x + p.pairs + i, n, right);
        const T *c = read_tile(cosine, at.cosine + i, n, cosines), *s = read_tile(sine, at.sine + i, n, sines);
        T *u = open_tile(y, to + i, to_left), *v = open_tile(y, to + p.pairs + i, to_right);
        for_vectors<T>(n, [&](auto access, int64_t j) {
          const V p0 = access.load(a + j), p1 = access.load(b + j), cos = access.load(c + j), sin = access.load(s + j);
          access.store(u + j, p0 * cos - p1 * sin);
          access.store(v + j, p1 * cos + p0 * sin);
        });
        close_tile(y, to + i, n, to_left), close_tile(y, to + p.pairs + i, n, to_right);
      }
      for (int64_t i = 2 * p.pairs; i < p.width; i += kPairs) {
        const int64_t n = min_of(kPairs, p.width - i);
        const T* a = read_tile(x, at.x + i, n, left);
        T* u = open_tile(y, to + i, to_left);
        for_vectors<T>(n, [&](auto access, int64_t j) { access.store(u + j, access.load(a + j)); });
        close_tile(y, to + i, n, to_left);
      }
    }
  });
}

void turn(const RotaryRows& p, Source x, Source cosine, Source sine, Target y) {
  x.format->def->compute == Compute::f64 ? turn_as<double>(p, x, cosine, sine, y) : turn_as<float>(p, x, cosine, sine, y);
}

}  // namespace

extern const RotaryKernel rotary_kernel = {turn};

}  // namespace dyadic::DY_ISA
