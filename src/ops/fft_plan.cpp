#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

#include "ops/fft/plan.h"

namespace dyadic::inline v1::ops {
namespace {

bool smooth(int64_t n) {
  for (int64_t p : {2, 3, 5})
    while (n % p == 0) n /= p;
  return n == 1;
}
int64_t padded_length(int64_t n) {
  if (smooth(n)) return 0;
  int64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  return m;
}

}  // namespace

FftPlan::FftPlan(int64_t n, bool inverse)
    : n_(n),
      padded_(padded_length(n)),
      transform_(size_t(padded_ ? padded_ : n), padded_ ? false : inverse),
      back_(size_t(padded_ ? padded_ : 1), true) {
  if (!padded_) return;
  chirp_.resize(size_t(n));
  for (int64_t k = 0; k < n; ++k) {  // k^2 modulo 2 n, so that the angle is exact
    const double angle = std::numbers::pi * double(int64_t((__int128(k) * k) % (2 * n))) / double(n);
    chirp_[size_t(k)] = std::polar(1.0, inverse ? angle : -angle);
  }
  std::vector<Line> b(size_t(padded_), Line(0));
  for (int64_t k = 0; k < n; ++k)
    b[size_t(k)] = b[size_t(k ? padded_ - k : 0)] = std::conj(chirp_[size_t(k)]) / double(padded_);
  filter_.resize(size_t(padded_));
  transform_.transform(b.data(), filter_.data());
}

// jk = (j^2 + k^2 - (k - j)^2) / 2 makes the sum a convolution with a chirp (Bluestein 1970).
void FftPlan::run(const Line* in, Line* out, Line* scratch) const {
  if (n_ == 1) {  // kissfft takes 1 for a prime factor of its general butterfly, whose buffer all threads share
    *out = *in;
    return;
  }
  if (!padded_) return transform_.transform(in, out);
  Line *a = scratch, *b = scratch + padded_;
  for (int64_t k = 0; k < padded_; ++k) a[k] = k < n_ ? in[k] * chirp_[size_t(k)] : Line(0);
  transform_.transform(a, b);
  for (int64_t k = 0; k < padded_; ++k) b[k] *= filter_[size_t(k)];
  back_.transform(b, a);
  for (int64_t k = 0; k < n_; ++k) out[k] = a[k] * chirp_[size_t(k)];
}

int64_t fft_scratch(int64_t n) { return 2 * padded_length(n); }

std::shared_ptr<const FftPlan> fft_plan(int64_t n, bool inverse) {
  static std::mutex mutex;
  static std::map<std::pair<int64_t, bool>, std::shared_ptr<const FftPlan>> plans;
  constexpr size_t kMost = 256;
  std::lock_guard lock(mutex);
  auto& plan = plans[{n, inverse}];
  if (plan) return plan;
  auto made = plan = std::make_shared<const FftPlan>(n, inverse);
  if (plans.size() > kMost) plans.clear();
  return made;
}

}  // namespace dyadic::inline v1::ops
