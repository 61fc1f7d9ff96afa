// Random numbers: words and uniforms are the CPU's bits (base/random.h, Note [Random streams]); normal numbers differ from them
// in the last places, as those of different processors do.
#include <cmath>

#include "base/check.h"
#include "base/random.h"
#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/kernel.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256;

// What one block of four words makes.
template <class T> struct Drawn {
  T x[sizeof(T) == 4 ? 4 : 2];
};
DY_DEVICE uint64_t pair_of(const PhiloxBlock& b, int k) { return uint64_t(b.word[2 * k + 1]) << 32 | b.word[2 * k]; }
DY_DEVICE void uniforms(const PhiloxBlock& b, float (&x)[4]) {
  for (int k = 0; k < 4; ++k) x[k] = float(int32_t(b.word[k] >> 8)) * 0x1p-24f;
}
DY_DEVICE void uniforms(const PhiloxBlock& b, double (&x)[2]) {
  for (int k = 0; k < 2; ++k) x[k] = double(int64_t(pair_of(b, k) >> 11)) * 0x1p-53;
}
// sqrt(-2 log u) times the cosine and the sine of an angle, whose octant is three bits: two signs and a swap.
template <class T> DY_DEVICE void box_muller(T u, T angle, bool swap, bool minus0, bool minus1, T* x) {
  const T radius = std::sqrt(std::log(u) * T(-2)), s = std::sin(angle), c = std::cos(angle);
  const T first = (swap ? s : c) * radius, second = (swap ? c : s) * radius;
  x[0] = minus0 ? -first : first, x[1] = minus1 ? -second : second;
}
DY_DEVICE void normals(const PhiloxBlock& b, float (&x)[4]) {
  constexpr float step = 0.78539816339744831 * 0x1p-29;
  for (int k = 0; k < 4; k += 2) {
    const uint32_t word = b.word[k + 1];
    const float u = (float(int32_t(b.word[k] >> 1)) + 0.5f) * 0x1p-31f, a = (float(int32_t(word << 3 >> 3)) + 0.5f) * step;
    box_muller(u, a, word >> 29 & 1, word >> 31, word >> 30 & 1, x + k);
  }
}
DY_DEVICE double fraction(uint64_t bits) {  // the top 52 bits, in (0, 1)
  return __builtin_bit_cast(double, bits >> 12 | 0x3ff0000000000000u) - (1 - 0x1p-53);
}
DY_DEVICE void normals(const PhiloxBlock& b, double (&x)[2]) {
  const uint64_t word = pair_of(b, 1);
  box_muller(fraction(pair_of(b, 0)), fraction(word << 3) * 0.78539816339744831, word >> 61 & 1, word >> 63, word >> 62 & 1, x);
}

struct Drawing {
  Code code;  // of real numbers, of which a complex one is two
  int64_t count;
  double scale;  // 1: none
};
template <class T, bool kNormal> __global__ void __launch_bounds__(kThreads) draw_numbers(Drawing p, Draw d, void* out) {
  constexpr int N = sizeof(T) == 4 ? 4 : 2;
  for (int64_t i = first_thread(); i * N < p.count; i += all_threads()) {
    const PhiloxBlock b = philox(uint64_t(i), d.stream, d.seed);
    T x[N];
    if constexpr (kNormal)
      normals(b, x);
    else
      uniforms(b, x);
    for (int k = 0; k < N; ++k) {
      if (p.scale != 1) x[k] *= T(p.scale);
      if (i * N + k < p.count) store(p.code, out, i * N + k, x[k]);
    }
  }
}
template <bool kNormal> void run_draw(const Drawing& p, const Pointers& at) {
  if (p.count == 0) return;
  const Grid grid = grid_for(p.count, 4, kThreads);
  if (p.code == Code::f64)
    launch(draw_numbers<double, kNormal>, grid, p, at.draw, at.out[0]);
  else
    launch(draw_numbers<float, kNormal>, grid, p, at.draw, at.out[0]);
}
template <bool kNormal> void plan_draw(Call& c) {
  const Operand out = c.result();
  const Code code = code_of(out.format), real = code == Code::c64 ? Code::f32 : code == Code::c128 ? Code::f64 : code;
  const bool complex = real != code;
  c.plan.draws = true;
  c.plan.set<run_draw<kNormal>>(Drawing{real, out.count * (complex ? 2 : 1), kNormal && complex ? std::sqrt(0.5) : 1.0});
}

// random_below() of base/random.cpp.
DY_DEVICE uint64_t below(const Draw& d, uint64_t i, uint64_t bound) {
  for (uint64_t attempt = 0;; ++attempt) {
    const PhiloxBlock b = philox(i, d.stream ^ attempt << 56, d.seed);
    for (int half = 0; half < 2; ++half) {
      const auto product = static_cast<unsigned __int128>(pair_of(b, half)) * bound;
      if (uint64_t(product) >= bound || uint64_t(product) >= -bound % bound) return uint64_t(product >> 64);
    }
  }
}
struct Range {
  Code code;
  int64_t count, low;
  uint64_t size;
};
__global__ void __launch_bounds__(kThreads) draw_integers(Range p, Draw d, void* out) {
  for (int64_t i = first_thread(); i < p.count; i += all_threads())
    store(p.code, out, i, int64_t(uint64_t(p.low) + below(d, uint64_t(i), p.size)));
}
void run_randint(const Range& p, const Pointers& at) {
  if (p.count) launch(draw_integers, grid_for(p.count, 1, kThreads), p, at.draw, at.out[0]);
}
void plan_randint(Call& c) {
  namespace arg = ops::randint_op::arg;
  const Operand out = c.result();
  c.plan.draws = true;
  c.plan.set<run_randint>(Range{code_of(out.format), out.count, c[arg::low], uint64_t(c[arg::high]) - uint64_t(c[arg::low])});
}

// Fisher and Yates' shuffle as random_permutation() does it: step i, from n down to 2, exchanges place i - 1 with place p(i) <
// i. What lies at place q before step i is what the step before it that took q, the least k > i with p(k) = q, put there: what
// lay at place k - 1 before step k. So each result is found by itself, through lists of the steps that took a place.
struct Shuffle {
  Code code;
  int64_t n;
};
__global__ void __launch_bounds__(kThreads) link_steps(int64_t n, Draw d, unsigned* place, unsigned* head, unsigned* next) {
  for (int64_t i = 2 + first_thread(); i <= n; i += all_threads()) {
    place[i] = unsigned(below(d, uint64_t(i), uint64_t(i)));
    next[i] = atomicExch(head + place[i], unsigned(i));
  }
}
__global__ void __launch_bounds__(kThreads)
    follow_steps(Shuffle p, const unsigned* place, const unsigned* head, const unsigned* next, void* out) {
  for (int64_t i = 1 + first_thread(); i <= p.n; i += all_threads()) {
    unsigned at = i == 1 ? 0 : place[i];
    for (unsigned step = unsigned(i);;) {
      unsigned before = 0;
      for (unsigned k = head[at]; k; k = next[k])
        if (k > step && (before == 0 || k < before)) before = k;
      if (before == 0) break;
      at = before - 1, step = before;
    }
    store(p.code, out, i - 1, int64_t(at));
  }
}
__global__ void __launch_bounds__(kThreads) clear_words(unsigned* to, int64_t n) {
  for (int64_t i = first_thread(); i < n; i += all_threads()) to[i] = 0;
}
void run_randperm(const Shuffle& p, const Pointers& at) {
  if (p.n == 0) return;
  auto* place = static_cast<unsigned*>(at.workspace);
  unsigned *head = place + p.n + 1, *next = head + p.n + 1;
  launch(clear_words, grid_for(p.n, 1, kThreads), head, p.n);
  launch(link_steps, grid_for(p.n, 1, kThreads), p.n, at.draw, place, head, next);
  launch(follow_steps, grid_for(p.n, 1, kThreads), p, place, head, next, at.out[0]);
}
void plan_randperm(Call& c) {
  const Operand out = c.result();
  DY_CHECK(out.count < int64_t{1} << 31, "randperm: too many numbers for cuda: n is {}; at most 2147483647", out.count);
  c.plan.draws = true;
  c.plan.workspace = 12 * (out.count + 1);
  c.plan.set<run_randperm>(Shuffle{code_of(out.format), out.count});
}

// Numbers of events, each from a stream of its own (ops/random/counts.h).
class Uniforms {
  Draw d_;
  uint64_t block_;
  bool second_ = false;

 public:
  DY_DEVICE Uniforms(Draw d, int64_t element) : d_(d), block_(uint64_t{1} << 63 | uint64_t(element) << 20) {}
  DY_DEVICE double next() {
    const PhiloxBlock b = philox(block_, d_.stream, d_.seed);
    const uint64_t bits = pair_of(b, second_ ? 1 : 0);
    if (second_) ++block_;
    second_ = !second_;
    return (double(int64_t(bits >> 11)) + 0.5) * 0x1p-53;
  }
};
struct Hat {
  double a, b, center, squeeze, scale;
};
template <class F> DY_DEVICE double by_rejection(Uniforms& u, const Hat& h, F log_ratio) {
  while (true) {
    const double x = u.next() - 0.5, v = u.next(), edge = 0.5 - fabs(x);
    const double k = floor((2 * h.a / edge + h.b) * x + h.center);
    if (edge >= 0.07 && v <= h.squeeze) return k;
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    if (std::log(v * h.scale / (h.a / (edge * edge) + h.b)) <= log_ratio(k)) return k;
  }
}
DY_DEVICE double no_number() { return __builtin_bit_cast(double, 0x7ff8000000000000u); }
DY_DEVICE bool is_infinite(double x) { return fabs(x) > 0x1.fffffffffffffp1023; }

DY_DEVICE double poisson_of(Draw d, int64_t i, double rate) {
  if (!(rate >= 0) || is_infinite(rate)) return no_number();
  if (rate < 10) {  // by inversion
    const PhiloxBlock b = philox(uint64_t(i) / 2, d.stream, d.seed);
    double uniform = double(int64_t(pair_of(b, int(i % 2)) >> 11)) * 0x1p-53, k = 0;
    for (double p = std::exp(-rate); uniform >= p && p > 0x1p-60; p *= rate / k) uniform -= p, ++k;
    return k;
  }
  Uniforms u(d, i);
  const double b = 0.931 + 2.53 * std::sqrt(rate), log_rate = std::log(rate);
  const Hat hat = {-0.059 + 0.02483 * b, b, rate + 0.43, 0.9277 - 3.6224 / (b - 2), 1.1239 + 1.1328 / (b - 3.4)};
  return by_rejection(u, hat, [=](double k) { return k * log_rate - rate - lgamma(k + 1); });
}
DY_DEVICE double binomial_of(Draw d, int64_t i, double n, double p) {
  if (!(n >= 0 && p >= 0 && p <= 1) || is_infinite(n)) return no_number();
  n = floor(n);
  const bool mirrored = p > 0.5;
  if (mirrored) p = 1 - p;
  if (p == 0) return mirrored ? n : 0;
  Uniforms u(d, i);
  double k = -1;
  if (n * p < 10) {  // trials until the next success are geometric
    for (double trials = 0; trials <= n; ++k) trials += ceil(std::log(u.next()) / log1p(-p));
  } else {
    const double spread = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * spread, odds = std::log(p / (1 - p));
    const double most = floor((n + 1) * p);
    const auto log_chance = [=](double j) { return j * odds - lgamma(j + 1) - lgamma(n - j + 1); };
    const double highest = log_chance(most);
    const Hat hat = {-0.0873 + 0.0248 * b + 0.01 * p, b, n * p + 0.5, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread};
    k = by_rejection(u, hat, [=](double j) { return j > n ? -0x1p1000 : log_chance(j) - highest; });
  }
  return mirrored ? n - k : k;
}
struct Counts {
  Code in[2], out;
  int64_t count;
};
__global__ void __launch_bounds__(kThreads) draw_poisson(Counts p, Draw d, const void* rate, void* out) {
  for (int64_t i = first_thread(); i < p.count; i += all_threads())
    store(p.out, out, i, poisson_of(d, i, load<double>(p.in[0], rate, i)));
}
__global__ void __launch_bounds__(kThreads) draw_binomial(Counts p, Draw d, const void* count, const void* chance, void* out) {
  for (int64_t i = first_thread(); i < p.count; i += all_threads())
    store(p.out, out, i, binomial_of(d, i, load<double>(p.in[0], count, i), load<double>(p.in[1], chance, i)));
}
void run_poisson(const Counts& p, const Pointers& at) {
  if (p.count) launch(draw_poisson, grid_for(p.count, 1, kThreads), p, at.draw, at.in[0], at.out[0]);
}
void run_binomial(const Counts& p, const Pointers& at) {
  if (p.count) launch(draw_binomial, grid_for(p.count, 1, kThreads), p, at.draw, at.in[0], at.in[1], at.out[0]);
}
template <int N> Counts counts_of(Call& c) {
  const Operand out = c.result();
  c.plan.draws = true;
  return {{code_of(c.operand(0).format), code_of(c.operand(N - 1).format)}, code_of(out.format), out.count};
}
void plan_poisson(Call& c) { c.plan.set<run_poisson>(counts_of<1>(c)); }
void plan_binomial(Call& c) { c.plan.set<run_binomial>(counts_of<2>(c)); }

const Registered rand{"rand", {.plan = plan_draw<false>}}, randn{"randn", {.plan = plan_draw<true>}};
const Registered randint{"randint", {.plan = plan_randint}}, randperm{"randperm", {.plan = plan_randperm}};
const Registered poisson{"poisson", {.plan = plan_poisson, .dense = true}};
const Registered binomial{"draw_binomial", {.plan = plan_binomial, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
