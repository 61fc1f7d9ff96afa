// Standard errors of differences in loss. See Note [Standard errors] in statistics.h.
#include "study/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "dyadic/autograd.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::study {

const char* status_name(Status s) {
  static constexpr const char* kNames[] = {"pending", "running", "done", "stopped", "failed"};
  return kNames[int(s)];
}
const char* minimize_name(Minimize m) { return m == Minimize::memory ? "memory" : "time"; }

Mean mean_se(std::span<const double> x) {
  Mean r;
  r.n = int64_t(x.size());
  if (x.empty()) return r;
  r.mean = std::accumulate(x.begin(), x.end(), 0.0) / double(r.n);
  if (r.n < 2) return r;
  double squares = 0;
  for (double v : x) squares += (v - r.mean) * (v - r.mean);
  r.se = std::sqrt(squares / double(r.n - 1) / double(r.n));
  return r;
}

// The estimator of a ratio of totals under cluster sampling (Cochran, Sampling Techniques, section 9A): the mean is sum / n,
// and its variance is that of the clusters' sums of residuals, times G / (G - 1) for few clusters.
Mean mean_se_clustered(std::span<const double> x, int64_t window) {
  DY_ASSERT(window > 0);
  Mean r = mean_se(x);
  r.se = kUnknown;
  const int64_t clusters = (r.n + window - 1) / window;
  if (clusters < 2) return r;
  double squares = 0;
  for (int64_t c = 0; c < clusters; ++c) {
    double sum = 0;
    for (int64_t i = c * window; i < std::min((c + 1) * window, r.n); ++i) sum += x[size_t(i)] - r.mean;
    squares += sum * sum;
  }
  r.se = std::sqrt(squares * double(clusters) / double(clusters - 1)) / double(r.n);
  return r;
}

double student_t95(double df) {
  constexpr double z = 1.6448536269514722;
  if (std::isinf(df)) return z;
  if (df < 1.5) return 6.313751514675043;
  if (df < 2.5) return 2.919985580353726;
  // Cornish and Fisher's expansion about the normal (Abramowitz and Stegun 26.7.5): within 0.002 at three degrees of freedom.
  const double z2 = z * z;
  const double g1 = z * (z2 + 1) / 4, g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  const double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
  return z + (g1 + (g2 + (g3 + g4 / df) / df) / df) / df;
}

// Tango's score interval of paired proportions (Statistics in Medicine 17, 1998): the largest difference that the score test
// does not reject, with the most likely share of what flips the other way under it. Where none flipped, what n values show of
// an event that did not occur: 1 - .05^(1/n), about 3/n (the rule of three; Hanley and Lippman-Hand, JAMA 249, 1983), since the
// score's z^2 / (n + z^2) holds the truth in 92 of 100. The largest of this and of Student's t holds it in 94 or more of 100
// from n = 30 on.
double paired_bound(double lost, double won, double n) {
  constexpr double z = 1.6448536269514722;
  if (lost + won == 0) return 1 - std::pow(0.05, 1 / n);
  const auto rejected = [&](double d) {
    const double a = 2 * n, b = (2 * n - lost + won) * d - lost - won, c = -won * d * (1 - d);
    const double flips = (std::sqrt(std::max(b * b - 4 * a * c, 0.0)) - b) / (2 * a);
    const double variance = n * (2 * flips + d * (1 - d));
    return lost - won - n * d < -z * std::sqrt(std::max(variance, 0.0));
  };
  double low = (lost - won) / n, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double mid = (low + high) / 2;
    (rejected(mid) ? high : low) = mid;
  }
  return low;
}

namespace {
// Values that count: all 0, or one other, which is 1 or -1.
struct Counted {
  float one = 0;
  bool whole = true;
  void add(float v) {
    if (v == 0 || v == one) return;
    whole = whole && one == 0 && (v == 1 || v == -1);
    one = v;
  }
};

// Of values that count, the bound by their flips; in windows, whose values move together, that of as many as there are windows
// where none flipped. An error of nothing would be a false certainty: it becomes what the bound says.
void add_flips(LossDelta& d, double lost, double won, int64_t n, int64_t windows) {
  constexpr double z = 1.6448536269514722;
  const double upper = paired_bound(lost, won, double(lost + won == 0 ? windows : n));
  if (upper <= d.upper) return;
  d.upper = upper;
  if (const double se = (upper - d.delta) / z; !(se <= d.se)) d.se = se, d.se_kind = "token";
}

// Takes part in the reported error if it is known: the largest error is named, the largest bound counts. They can differ: two
// seeds have a small spread by luck, which Student's t pays for.
void add_error(LossDelta& d, double se, const char* kind, double df) {
  if (std::isnan(se)) return;
  if (!(se <= d.se)) d.se = se, d.se_kind = kind;
  const double upper = d.delta + student_t95(df) * se;
  if (!(upper <= d.upper)) d.upper = upper;
}
}  // namespace

LossDelta compare(std::span<const PairedLosses> seeds, int64_t window) {
  LossDelta d;
  if (seeds.empty() || seeds[0].f32.empty()) return d;
  const size_t n = seeds[0].f32.size();
  std::vector<double> tokens(n, 0.0), means;
  Counted counted;
  double lost = 0, won = 0;  // over seeds, of which each is as much of a value
  for (const PairedLosses& s : seeds) {
    DY_CHECK_AS(ValueError, s.f32.size() == n && s.other.size() == n,
                "compare: losses are not of the same tokens: f32 has {} and {}, the other {}", n, s.f32.size(), s.other.size());
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
      const double difference = double(s.other[i]) - double(s.f32[i]);
      sum += difference;
      tokens[i] += difference / double(seeds.size());
      if (!counted.whole) continue;
      counted.add(s.f32[i]), counted.add(s.other[i]);
      (difference > 0 ? lost : won) += std::fabs(difference) / double(seeds.size());
    }
    means.push_back(sum / double(n));
  }
  const Mean token = mean_se(tokens), cluster = mean_se_clustered(tokens, window), seed = mean_se(means);
  if (!std::isfinite(token.mean)) return d;
  d.delta = token.mean;
  d.se_token = token.se, d.se_window = cluster.se, d.se_seed = seed.se;
  add_error(d, d.se_token, "token", double(n) - 1);
  if (window > 1) add_error(d, d.se_window, "window", double((int64_t(n) + window - 1) / window) - 1);
  add_error(d, d.se_seed, "seed", double(seeds.size()) - 1);
  if (counted.whole && counted.one != 0) add_flips(d, lost, won, int64_t(n), (int64_t(n) + window - 1) / window);
  return d;
}

LossDelta compare(std::span<const float> f32, std::span<const float> other, int64_t window) {
  const PairedLosses one{f32, other};
  return compare(std::span(&one, 1), window);
}

LossDelta no_difference() {
  LossDelta d;
  d.delta = d.se = d.upper = d.se_token = d.se_window = 0;
  d.se_kind = "token";
  return d;
}

// sum p (log p - log q) with p = e^(x - a) / S and q = e^(y - b) / T is sum p ((x - a) - (y - b)) + log T - log S: one pass,
// two exponentials per entry. About 10 us for 256 entries: a whole validation text asks for parallel_for over its tokens.
Tensor kl_divergence(const Tensor& x, const Tensor& y) {
  NoGrad guard;
  // In f64, each row from its largest on: KL = sum e^x (x - y) / s + log t - log s with s = sum e^x and t = sum e^y.
  const Tensor a = (x.to(f64) - amax(x, {-1}, true).to(f64)), b = (y.to(f64) - amax(y, {-1}, true).to(f64));
  const Tensor e = exp(a), s = sum(e, {-1}), t = sum(exp(b), {-1});
  const Tensor cross = where(gt(e, zeros_like(e)), e * (a - b), zeros_like(e));  // what p does not hold adds nothing
  const Tensor kl = sum(where(isnan(e), e, cross), {-1}) / s + log(t) - log(s);
  return maximum(kl, zeros_like(kl));  // rounding may leave -1e-16; a NaN (infinite logits) passes through
}

}  // namespace dyadic::inline v1::study
