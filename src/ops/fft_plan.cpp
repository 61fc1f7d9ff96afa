#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

#include "ops/fft/plan.h"

namespace dyadic::inline v1::ops {
namespace {

// What is left of n without its factors 2, 3, 4 and 5, each of which goes to f.
template <class F> int64_t for_radices(int64_t n, F&& f) {
  for (int p : {4, 2, 3, 5})
    for (; n % p == 0; n /= p) f(p);
  return n;
}
// exp(-2 pi i k / n)
void set_turn(std::vector<double>& t, int64_t at, int64_t k, int64_t n) {
  const long double angle = 2 * std::numbers::pi_v<long double> * (long double)k / (long double)n;
  t[size_t(2 * at)] = double(std::cos(angle));
  t[size_t(2 * at + 1)] = double(-std::sin(angle));
}

std::shared_ptr<FftPlan> make_plan(int64_t n) {
  auto p = std::make_shared<FftPlan>();
  p->n = n;
  p->turns.resize(size_t(2 * n));
  for (int64_t k = 0; k < n; ++k) set_turn(p->turns, k, k, n);
  if (for_radices(n, [&](int radix) { p->radices.push_back(radix); }) != 1) p->radices.clear();
  const int64_t lanes = fft_kernel().lanes;
  if (n % lanes == 0 && n > lanes && !p->radices.empty()) p->part = fft_plan(n / lanes), p->lanes = fft_plan(lanes);
  const int64_t padded = fft_padded(n);
  if (padded == 0) return p;
  // jk = (j^2 + k^2 - (k - j)^2) / 2 makes the sum a convolution with a chirp (Bluestein 1970).
  p->padded = fft_plan(padded);
  p->chirp.resize(size_t(2 * n));
  for (int64_t k = 0; k < n; ++k)  // k^2 modulo 2 n, so that the angle is exact
    set_turn(p->chirp, k, int64_t((__int128(k) * k) % (2 * n)), 2 * n);
  std::vector<double> b(size_t(2 * padded));
  for (int64_t k = 0; k < n; ++k)
    for (int64_t at : {k, k ? padded - k : 0}) {
      b[size_t(2 * at)] = p->chirp[size_t(2 * k)] / double(padded);
      b[size_t(2 * at + 1)] = -p->chirp[size_t(2 * k + 1)] / double(padded);
    }
  p->filter.resize(size_t(2 * padded));
  const bool alone = fft_alone(padded, 1);
  std::vector<char> room(size_t(fft_kernel().workspace(padded, 0, alone)));
  const int64_t start[] = {0};
  const Format* c128_format = c128.format();
  fft_kernel().run(
      {p->padded.get(), nullptr, padded, false, false, false, 1, c128_format, c128_format, b.data(), p->filter.data(), 1, 1},
      alone, 1, start, start, room.data());
  return p;
}

}  // namespace

int64_t fft_padded(int64_t n) {
  if (for_radices(n, [](int) {}) == 1) return 0;
  int64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  return m;
}

bool fft_alone(int64_t n, int64_t lines) {
  const int64_t padded = fft_padded(n), length = padded ? padded : n, lanes = fft_kernel().lanes;
  return lines <= lanes / 2 && length % lanes == 0 && length > lanes;
}

std::shared_ptr<const FftPlan> fft_plan(int64_t n) {
  static std::recursive_mutex mutex;  // a plan's parts are plans
  static std::map<int64_t, std::shared_ptr<const FftPlan>> plans;
  constexpr size_t kMost = 256;
  std::lock_guard lock(mutex);
  if (auto found = plans.find(n); found != plans.end()) return found->second;
  std::shared_ptr<const FftPlan> made = make_plan(n);
  if (plans.size() > kMost) plans.clear();
  return plans[n] = made;
}

}  // namespace dyadic::inline v1::ops
