// Random numbers: words, uniforms and normals are the CPU's bits as AVX2 has them (base/random.h, Note [Random streams]):
// base/random_kernel.cpp's functions of one lane.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/random.h"
#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/copies/words.h"
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/simd.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256;

template <class T> inline constexpr int kOfBlock = sizeof(T) == 4 ? 4 : 2;  // elements that a block of four words makes

DY_DEVICE uint64_t pair_of(const PhiloxBlock& b, int k) { return uint64_t(b.word[2 * k + 1]) << 32 | b.word[2 * k]; }
DY_DEVICE void uniforms(const PhiloxBlock& b, float* x) {
  DY_UNROLL
  for (int k = 0; k < 4; ++k) x[k] = float(int32_t(b.word[k] >> 8)) * 0x1p-24f;
}
DY_DEVICE void uniforms(const PhiloxBlock& b, double* x) {
  DY_UNROLL
  for (int k = 0; k < 2; ++k) x[k] = double(int64_t(pair_of(b, k) >> 11)) * 0x1p-53;
}
// philox() of base/random.h.
DY_DEVICE PhiloxBlock philox_block(uint64_t block, const Draw& d) {
  uint32_t c0 = uint32_t(block), c1 = uint32_t(block >> 32), c2 = uint32_t(d.stream), c3 = uint32_t(d.stream >> 32);
  uint32_t k0 = uint32_t(d.seed), k1 = uint32_t(d.seed >> 32);
  DY_UNROLL
  for (int round = 0; round < 10; round++) {
    const uint64_t a = wide_product(c0, 0xd2511f53u), b = wide_product(c2, 0xcd9e8d57u);
    c0 = uint32_t(b >> 32) ^ c1 ^ k0, c2 = uint32_t(a >> 32) ^ c3 ^ k1;
    c1 = uint32_t(b), c3 = uint32_t(a);
    k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
  }
  return {{c0, c1, c2, c3}};
}
// The root of zero or of a number far from the least, rounded as every root is, without what that asks of other numbers.
DY_DEVICE float plain_root(float x) {
#if __CUDA_ARCH__
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(fmaxf(x, 0x1p-60f)));
  const float root = x * r;
  return __builtin_fmaf(__builtin_fmaf(-root, root, x), 0.5f * r, root);
#else
  return std::sqrt(x);
#endif
}
DY_DEVICE double plain_root(double x) { return std::sqrt(x); }
// math::log_unrepaired() of what is not subnormal.
template <class T> DY_DEVICE Vec<T> log_of_normal(Vec<T> x) {
  using namespace math;
  constexpr T mantissa = kF32<T> ? 0x1p23 : 0x1p52;
  constexpr int kBias = kF32<T> ? 127 : 1023, kShift = kMantissa<T>;
  using U = decltype(bits(x).raw);
  const U u = bits(x).raw, above = u + (bits(Vec<T>(1)).raw - bits(Vec<T>(0.75)).raw), t = above >> kShift;
  const Vec<T> e = from_bits<T>(hn::One<U>{t | bits(Vec<T>(mantissa)).raw}) - (mantissa + kBias);
  const Vec<T> f = from_bits<T>(hn::One<U>{u - ((t - U(kBias)) << kShift)}) - 1;
  constexpr double kHigh = kF32<T> ? 0x1.62e4p-1 : 0x1.62e42feep-1;
  constexpr double kLow = kF32<T> ? 0x1.7f7d1cf79abcap-20 : 0x1.a39ef35793c76p-33;
  return fma(e, Vec<T>(kHigh), f - log_tail(f, e * kLow));
}
// sqrt(-2 log u) times the cosine and the sine of an angle. Its octant is the top bits of `octant`: two signs and a swap.
template <class T, class U> DY_DEVICE void box_muller(T u, T angle, U octant, T* x) {
  constexpr U kTop = U(1) << (8 * sizeof(U) - 1);
  const math::Angle<T> a{math::bits(Vec<T>(0)), angle, 0};
  const T radius = plain_root((log_of_normal(Vec<T>(u)) * -2).v.raw);
  const T s = math::sin_near(a).v.raw, c = math::cos_near(a).v.raw;
  const bool swap = octant & kTop >> 2;
  const T first = (swap ? s : c) * radius, second = (swap ? c : s) * radius;
  x[0] = __builtin_bit_cast(T, __builtin_bit_cast(U, first) ^ (octant & kTop));
  x[1] = __builtin_bit_cast(T, __builtin_bit_cast(U, second) ^ (octant << 1 & kTop));
}
DY_DEVICE void normals(const PhiloxBlock& b, float* x) {
  constexpr float step = 0.78539816339744831 * 0x1p-29;
  DY_UNROLL
  for (int k = 0; k < 4; k += 2) {
    const uint32_t word = b.word[k + 1];
    const float u = (float(int32_t(b.word[k] >> 1)) + 0.5f) * 0x1p-31f, a = (float(int32_t(word << 3 >> 3)) + 0.5f) * step;
    box_muller(u, a, word, x + k);
  }
}
DY_DEVICE double fraction(uint64_t bits) {  // the top 52 bits, in (0, 1)
  return __builtin_bit_cast(double, bits >> 12 | 0x3ff0000000000000u) - (1 - 0x1p-53);
}
DY_DEVICE void normals(const PhiloxBlock& b, double* x) {
  const uint64_t word = pair_of(b, 1);
  box_muller(fraction(pair_of(b, 0)), fraction(word << 3) * 0.78539816339744831, word, x);
}

struct Drawing {
  Code code;  // of real numbers, of which a complex one is two
  int64_t count;
  double scale;  // 1: none
};
template <class T, bool kNormal> DY_DEVICE void draw(const Drawing& p, const Draw& d, int64_t block, T* x) {
  const PhiloxBlock b = philox_block(uint64_t(block), d);
  if constexpr (kNormal)
    normals(b, x);
  else
    uniforms(b, x);
  DY_UNROLL
  for (int k = 0; k < kOfBlock<T>; ++k)
    if (p.scale != 1) x[k] *= T(p.scale);
}
// N elements from the i-th on, a multiple of N.
template <class E, int N, class T> DY_DEVICE void store_drawn(void* out, int64_t i, const T (&x)[N]) {
  auto* const to = static_cast<typename E::Stored*>(out) + i;
  if constexpr (sizeof(typename E::Stored) > 4) {
    store_run<E>(out, i, x);
  } else {
    uint32_t words[N];
    store_of<E>(x, words);
    write_run(reinterpret_cast<const typename E::Stored(&)[N]>(words), to);
  }
}
// A thread draws two blocks: beside each other where that is at most 16 bytes, otherwise a block of threads apart. `whole`: in
// how many all elements are stored so; what is behind them is drawn one by one.
template <class T, bool kNormal>
__global__ void __launch_bounds__(kThreads) draw_numbers(Drawing p, Draw d, int64_t whole, bool apart, void* out) {
  constexpr int N = kOfBlock<T>;
  for (int64_t begin = int64_t(blockIdx.x) * 2 * kThreads; begin < whole; begin += int64_t(gridDim.x) * 2 * kThreads) {
    const int64_t block = begin + (apart ? threadIdx.x : 2 * threadIdx.x), other = block + (apart ? kThreads : 1);
    if (block >= whole) break;
    T x[2 * N];
    draw<T, kNormal>(p, d, block, x);
    draw<T, kNormal>(p, d, other, x + N);
    with_element(p.code, [&](auto e) {
      using E = decltype(e);
      if constexpr (int(sizeof(typename E::Stored)) * 2 * N > 16) {
        store_drawn<E, N>(out, block * N, reinterpret_cast<const T(&)[N]>(x[0]));
        if (other < whole) store_drawn<E, N>(out, other * N, reinterpret_cast<const T(&)[N]>(x[N]));
      } else {
        store_drawn<E>(out, block * N, x);
      }
    });
  }
  for (int64_t i = whole * N + first_thread(); i < p.count; i += all_threads()) {
    T x[N];
    draw<T, kNormal>(p, d, i / N, x);
    T mine = x[0];
    DY_UNROLL
    for (int k = 1; k < N; ++k)
      if (i % N == k) mine = x[k];
    store(p.code, out, i, mine);
  }
}
template <class T, bool kNormal> void launch_draw(const Drawing& p, const Pointers& at) {
  constexpr int64_t kEach = 2 * kOfBlock<T>;
  const int bytes = stored_bytes(p.code);
  const int64_t whole = is_aligned(at.out[0]) ? p.count / kEach * 2 : 0;
  const int64_t blocks = whole ? (whole + 2 * kThreads - 1) / (2 * kThreads) : grid_for(p.count, 1, kThreads).blocks;
  launch(draw_numbers<T, kNormal>, Grid{std::min<int64_t>(blocks, 1 << 30), kThreads}, p, at.draw, whole, bytes * kEach > 16,
         at.out[0]);
}
template <bool kNormal> void run_draw(const Drawing& p, const Pointers& at) {
  if (p.count == 0) return;
  p.code == Code::f64 ? launch_draw<double, kNormal>(p, at) : launch_draw<float, kNormal>(p, at);
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
  return by_rejection(u, hat, [=](double k) { return k * log_rate - rate - ::lgamma(k + 1); });
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
    for (double trials = 0; trials <= n; ++k) trials += ceil(std::log(u.next()) / ::log1p(-p));
  } else {
    const double spread = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * spread, odds = std::log(p / (1 - p));
    const double most = floor((n + 1) * p);
    const auto log_chance = [=](double j) { return j * odds - ::lgamma(j + 1) - ::lgamma(n - j + 1); };
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
