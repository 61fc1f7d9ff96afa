#include <cmath>
#include <complex>
#include <map>
#include <mutex>
#include <numbers>

#include "ops/fft/plan.h"

namespace dyadic::inline v1::ops {
namespace {

using Number = std::complex<long double>;

Number turn(int64_t k, int64_t n) {
  const long double angle = 2 * std::numbers::pi_v<long double> * (long double)k / (long double)n;
  return {std::cos(angle), -std::sin(angle)};
}
// exp(-2 pi i k / n) for many k: a coarse turn times a fine one, each known to 64 bits.
class Turns {
  int64_t n_, step_;
  std::vector<Number> fine_, coarse_;

 public:
  explicit Turns(int64_t n) : n_(n), step_(int64_t(std::sqrt(double(n))) + 1) {
    for (int64_t k = 0; k < step_; ++k) fine_.push_back(turn(k, n)), coarse_.push_back(turn(k * step_, n));
  }
  Number operator()(int64_t k) const {
    const Number a = coarse_[size_t(k % n_ / step_)], b = fine_[size_t(k % n_ % step_)];
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};
template <class T> void push(std::vector<T>& to, Number x) { to.push_back(T(x.real())), to.push_back(T(x.imag())); }

// Calls f for each factor of n that is a butterfly, outermost first; what is left of n without them. Eights, and what of the
// twos remains as fours rather than a two.
template <class F> int64_t for_radices(int64_t n, F&& f) {
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  for (int p : {13, 11, 7, 5, 3})
    for (; n % p == 0; n /= p) f(p);
  for (; twos >= 2 && twos % 3 != 0; twos -= 2) f(4);
  if (twos == 1) f(2), twos = 0;
  for (; twos > 0; twos -= 3) f(8);
  return n;
}

template <class T> void set_line_turns(FftPlan<T>& p, const Turns& turns, int64_t lanes) {
  p.part = fft_plan<T>(p.n / lanes), p.lanes = fft_plan<T>(lanes);
  p.line_turns.resize(size_t(2 * p.n));
  for (int64_t k = 0; k < p.n / lanes; ++k)
    for (int64_t l = 0; l < lanes; ++l) {
      const Number x = turns(k * l);
      p.line_turns[size_t(2 * lanes * k + l)] = T(x.real());
      p.line_turns[size_t(2 * lanes * k + lanes + l)] = T(x.imag());
    }
}
// jk = (j^2 + k^2 - (k - j)^2) / 2 makes the sum a convolution with a chirp (Bluestein 1970).
void set_chirp(FftPlan<double>& p, int64_t padded) {
  p.padded = fft_plan<double>(padded);
  const Turns turns(2 * p.n);
  for (int64_t k = 0; k < p.n; ++k)  // k^2 modulo 2 n, so that the angle is exact
    push(p.chirp, turns(int64_t((__int128(k) * k) % (2 * p.n))));
  std::vector<double> b(size_t(2 * padded));
  for (int64_t k = 0; k < p.n; ++k)
    for (int64_t at : {k, k ? padded - k : 0}) {
      b[size_t(2 * at)] = p.chirp[size_t(2 * k)] / double(padded);
      b[size_t(2 * at + 1)] = -p.chirp[size_t(2 * k + 1)] / double(padded);
    }
  p.filter.resize(size_t(2 * padded));
  const FftTable<double>& table = fft_table<double>();
  const bool alone = fft_alone(padded, 1, table.lanes);
  std::vector<char> room(size_t(table.workspace(padded, 0, alone)));
  const int64_t start[] = {0};
  FftLines<double> lines{.plan = p.padded.get(), .n = padded, .scale = 1, .in = b.data(), .out = p.filter.data()};
  lines.in_stride = lines.out_stride = 1;
  table.run(lines, alone, 1, start, start, room.data());
}

template <class T> std::shared_ptr<FftPlan<T>> make_plan(int64_t n) {
  auto p = std::make_shared<FftPlan<T>>();
  p->n = n;
  const Turns halves(2 * n);
  for (int64_t k = 0; k <= n / 2; ++k) push(p->halves, halves(k));
  if (const int64_t padded = fft_padded(n)) {
    if constexpr (sizeof(T) == 8) set_chirp(*p, padded);
    return p;
  }
  for_radices(n, [&](int radix) { p->radices.push_back(radix); });
  int64_t length = n;
  for (int radix : p->radices) {
    const Turns turns(length);
    for (int64_t k = 1; k < length / radix; ++k)
      for (int64_t q = 1; q < radix; ++q) push(p->turns, turns(q * k));
    length /= radix;
  }
  const int64_t lanes = fft_table<T>().lanes;
  if (n % lanes == 0 && n > lanes) set_line_turns(*p, Turns(n), lanes);
  return p;
}

}  // namespace

int64_t fft_padded(int64_t n) {
  if (for_radices(n, [](int) {}) == 1) return 0;
  int64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  return m;
}
bool fft_alone(int64_t n, int64_t lines, int64_t lanes) {
  const int64_t padded = fft_padded(n), length = padded ? padded : n;
  return (lines <= lanes / 2 || length >= 1 << 14) && length % lanes == 0 && length > lanes;
}

template <class T> const FftTable<T>& fft_table() {
  if constexpr (sizeof(T) == 4)
    return fft_kernel().s;
  else
    return fft_kernel().d;
}
template <class T> std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n) {
  static std::recursive_mutex mutex;  // a plan's parts are plans
  static std::map<int64_t, std::shared_ptr<const FftPlan<T>>> plans;
  constexpr size_t kMost = 256;
  std::lock_guard lock(mutex);
  if (auto found = plans.find(n); found != plans.end()) return found->second;
  std::shared_ptr<const FftPlan<T>> made = make_plan<T>(n);
  if (plans.size() > kMost) plans.clear();
  return plans[n] = made;
}
template std::shared_ptr<const FftPlan<float>> fft_plan(int64_t n);
template std::shared_ptr<const FftPlan<double>> fft_plan(int64_t n);
template const FftTable<float>& fft_table();
template const FftTable<double>& fft_table();

}  // namespace dyadic::inline v1::ops
