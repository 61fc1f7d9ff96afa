// Random numbers of events, drawn element by element: each has a stream of uniforms of its own, as long as it needs.
#pragma once
#include <algorithm>
#include <cmath>

#include "ops/operands.h"
#include "ops/random/generator.h"

extern "C" double lgamma_r(double, int*) noexcept;

namespace dyadic::inline v1::ops {

class Uniforms {  // in (0, 1), 53 bits; of the stream's upper half, so that the lower is left for numbers drawn in order
  Draw d_;
  uint64_t block_;
  bool second_ = false;

 public:
  Uniforms(Draw d, int64_t element) : d_(d), block_(uint64_t{1} << 63 | uint64_t(element) << 20) {}
  double next() {
    const PhiloxBlock b = philox(block_, d_.stream, d_.seed);
    const int at = second_ ? 2 : 0;
    if (second_) ++block_;
    second_ = !second_;
    return (double((uint64_t(b[at + 1]) << 32 | b[at]) >> 11) + 0.5) * 0x1p-53;
  }
};

inline double log_factorial(double n) {
  int sign;
  return lgamma_r(n + 1, &sign);
}

// Hoermann's transformed rejection (The transformed rejection method for generating Poisson random variables, 1993): `a`, `b`,
// `center`, `squeeze` and `scale` are of the hat, log_ratio(k) is the logarithm of the distribution over its hat's scale.
struct Hat {
  double a, b, center, squeeze, scale;
};
template <class F> double by_rejection(Uniforms& u, const Hat& h, F&& log_ratio) {
  while (true) {
    const double x = u.next() - 0.5, v = u.next(), edge = 0.5 - std::abs(x);
    const double k = std::floor((2 * h.a / edge + h.b) * x + h.center);
    if (edge >= 0.07 && v <= h.squeeze) return k;
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    if (std::log(v * h.scale / (h.a / (edge * edge) + h.b)) <= log_ratio(k)) return k;
  }
}

// draw(first element, count, values, out) for every tile; values: the op's N dense inputs, in f64.
inline constexpr int64_t kDrawTile = 256;
template <int N> struct DrawnTiles {
  Operand in[N];
  const Format* out;
};
template <int N> DrawnTiles<N> drawn_tiles(Call& c) {
  DrawnTiles<N> p;
  for (int k = 0; k < N; ++k) p.in[k] = c.operand(k);
  p.out = result_format(c);
  c.plan.draws = true;
  return p;
}
template <int N, class F> void draw_tiles(const DrawnTiles<N>& p, const Pointers& at, F&& draw) {
  const int64_t n = p.in[0].count;
  parallel_for((n + kDrawTile - 1) / kDrawTile, 1, [&](int64_t begin, int64_t end) {
    double in[N][kDrawTile], out[kDrawTile];
    for (int64_t t = begin; t < end; ++t) {
      const int64_t first = t * kDrawTile, count = std::min(kDrawTile, n - first);
      auto place = [&](void* data, const Format& f) { return static_cast<char*>(data) + first * f.itemsize(); };
      for (int k = 0; k < N; ++k) convert(*p.in[k].format, place(at.in[k], *p.in[k].format), *f64.format(), in[k], count);
      draw(first, count, in, out);
      convert(*f64.format(), out, *p.out, place(at.out[0], *p.out), count);
    }
  });
}

}  // namespace dyadic::inline v1::ops
