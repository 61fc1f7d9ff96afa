#include "quant/observers.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "dyadic/autograd.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::quant {
namespace {

constexpr int64_t kHalf = Histogram::kBins / 2;

std::pair<double, double> within(const Observed& seen, double threshold) {
  return {std::max(seen.low, -threshold), std::min(seen.high, threshold)};
}

// The smallest magnitude below which so many percent of all values are.
double percentile(const Observed& seen, const IntegerCodes&, const CalibrateOptions& o) {
  const std::vector<double> all = seen.histogram.magnitudes();
  double sum = 0, below = 0;
  for (double n : all) sum += n;
  for (int64_t i = 0; i < kHalf; ++i) {
    below += all[size_t(i)];
    if (below >= sum * o.percentile / 100) return double(i + 1) / double(kHalf) * seen.histogram.reach();
  }
  return seen.histogram.reach();
}

// The one under whose grid the values seen, each its bin's middle, have the least squared error.
double least_squares(const Observed& seen, const IntegerCodes& codes, const CalibrateOptions&) {
  constexpr int kSteps = 128;
  const std::vector<double>& counts = seen.histogram.counts();
  const double largest = std::max(-seen.low, seen.high), width = seen.histogram.reach() / double(kHalf);
  const double low = codes.zero ? double(codes.low) : -double(codes.high);
  double best = largest, least = INFINITY;
  for (int step = 1; step <= kSteps; ++step) {
    const double t = largest * step / kSteps;
    const auto [from, to] = within(seen, t);
    const Grid g = grid_of(from, to, codes);
    double error = 0;
    for (int64_t i = 0; i < Histogram::kBins; ++i) {
      if (counts[size_t(i)] == 0) continue;
      const double x = (double(i - kHalf) + 0.5) * width, zero = double(g.zero);
      const double code = std::clamp(std::nearbyint(x / g.scale) + zero, low, double(codes.high));
      const double e = (code - zero) * g.scale - x;
      error += counts[size_t(i)] * e * e;
    }
    if (error < least) least = error, best = t;
  }
  return best;
}

// The divergence of the first `bins` magnitudes, the rest added to their last, from what so many levels tell of them.
double divergence(const std::vector<double>& all, int64_t bins, int64_t levels) {
  std::vector<double> q(static_cast<size_t>(bins), 0.0);
  double outside = 0, sum_p = 0, sum_q = 0;
  for (int64_t i = bins; i < kHalf; ++i) outside += all[size_t(i)];
  for (int64_t level = 0; level < levels; ++level) {
    const int64_t begin = level * bins / levels, end = (level + 1) * bins / levels;
    double sum = 0, filled = 0;
    for (int64_t i = begin; i < end; ++i) sum += all[size_t(i)], filled += all[size_t(i)] > 0;
    for (int64_t i = begin; i < end; ++i)
      if (all[size_t(i)] > 0) q[size_t(i)] = sum / filled;
  }
  const auto p = [&](int64_t i) { return all[size_t(i)] + (i == bins - 1 ? outside : 0); };
  for (int64_t i = 0; i < bins; ++i) sum_p += p(i), sum_q += q[size_t(i)];
  if (sum_q == 0) return INFINITY;
  double d = 0;
  for (int64_t i = 0; i < bins; ++i)
    if (p(i) > 0) d += p(i) / sum_p * std::log(p(i) / sum_p / std::max(q[size_t(i)] / sum_q, 1e-12));
  return d;
}

// Migacz 2017, "8-bit inference with TensorRT": the range whose values tell most of the distribution.
double entropy(const Observed& seen, const IntegerCodes& codes, const CalibrateOptions&) {
  const std::vector<double> all = seen.histogram.magnitudes();
  const int64_t levels = codes.high + 1;
  int64_t best = kHalf;
  double least = INFINITY;
  for (int64_t bins = levels; bins <= kHalf; ++bins)
    if (const double d = divergence(all, bins, levels); d < least) least = d, best = bins;
  return double(best) / double(kHalf) * seen.histogram.reach();
}

struct Observer {
  const char* name;
  double (*threshold)(const Observed&, const IntegerCodes&, const CalibrateOptions&);  // of magnitudes; null: see range_of
};
const Observer kObservers[] = {
    {"minmax", nullptr}, {"moving_average", nullptr}, {"percentile", percentile}, {"mse", least_squares}, {"entropy", entropy},
};

}  // namespace

std::vector<std::string> observers() {
  std::vector<std::string> names;
  for (const Observer& o : kObservers) names.emplace_back(o.name);
  return names;
}

void Histogram::add(const Tensor& x, double largest) {
  if (largest == 0 && reach_ == 0) {
    zeros_ += double(x.numel());
    return;
  }
  if (reach_ == 0) {
    reach_ = largest, counts_.assign(size_t(kBins), 0.0);
    counts_[size_t(kHalf)] += zeros_;
  }
  while (reach_ < largest) {  // two bins become one
    std::vector<double> wider(static_cast<size_t>(kBins), 0.0);
    for (int64_t i = 0; i < kBins; ++i) wider[size_t(kHalf / 2 + i / 2)] += counts_[size_t(i)];
    counts_ = std::move(wider), reach_ *= 2;
  }
  const Tensor counts = histc(x.to(f32), kBins, -reach_, reach_).to(f64).contiguous();
  for (int64_t i = 0; i < kBins; ++i) counts_[size_t(i)] += counts.data<double>()[i];
}
std::vector<double> Histogram::magnitudes() const {
  std::vector<double> all(static_cast<size_t>(kHalf), 0.0);
  if (reach_ == 0) return all;
  for (int64_t i = 0; i < kHalf; ++i) all[size_t(i)] = counts_[size_t(kHalf + i)] + counts_[size_t(kHalf - 1 - i)];
  return all;
}

void Observed::add(const Tensor& given, const CalibrateOptions& o) {
  const NoGrad guard;
  const Tensor x = given.detach().to(f32).reshape({-1});
  if (x.numel() == 0) return;
  const double least = amin(x).item(), most = amax(x).item();
  DY_CHECK_AS(ValueError, std::isfinite(least) && std::isfinite(most),
              "calibrate: NaN or infinities are among the inputs: x is {}", describe(given));
  low = batches ? std::min(low, least) : least, high = batches ? std::max(high, most) : most;
  average_low = batches ? average_low + o.momentum * (least - average_low) : least;
  average_high = batches ? average_high + o.momentum * (most - average_high) : most;
  histogram.add(x, std::max(std::abs(least), std::abs(most)));
  ++batches;
}

std::pair<double, double> range_of(const Observed& seen, const IntegerCodes& codes, const CalibrateOptions& o) {
  if (o.observer == "moving_average") return {seen.average_low, seen.average_high};
  for (const Observer& one : kObservers)
    if (o.observer == one.name && one.threshold)
      return seen.histogram.reach() == 0 ? std::pair(0.0, 0.0) : within(seen, one.threshold(seen, codes, o));
  return {seen.low, seen.high};
}

void check_options(const CalibrateOptions& o) {
  const std::vector<std::string> names = observers();
  DY_CHECK_AS(ValueError, std::ranges::find(names, o.observer) != names.end(),
              "calibrate: unknown observer \"{}\"; did you mean {}?", o.observer, nearest(o.observer, names));
  DY_CHECK_AS(ValueError, o.momentum > 0 && o.momentum <= 1, "calibrate: momentum is {}, not in (0, 1]", o.momentum);
  DY_CHECK_AS(ValueError, o.percentile > 0 && o.percentile <= 100, "calibrate: percentile is {}, not in (0, 100]",
              o.percentile);
}

Grid grid_of(double low, double high, const IntegerCodes& codes) {
  if (!codes.zero) {
    const double largest = std::max(std::abs(low), std::abs(high));
    return {largest > 0 ? largest / double(codes.high) : 1, 0};
  }
  low = std::min(low, 0.0), high = std::max(high, 0.0);
  const double scale = high > low ? (high - low) / double(codes.high - codes.low) : 1;
  const auto zero = int64_t(std::nearbyint(double(codes.low) - low / scale));
  return {scale, std::clamp(zero, codes.low, codes.high)};
}

}  // namespace dyadic::inline v1::quant
