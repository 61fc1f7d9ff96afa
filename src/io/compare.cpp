// Values of tensors beside each other, and statistics of them, in pieces that fit a cache.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "dyadic/convert.h"
#include "dyadic/ops.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

constexpr int64_t kComparedPiece = 1 << 18;

// Flat, and of a dtype whose elements have addresses.
Tensor flat(const Tensor& t) {
  Tensor x = t.dtype().is_blocked() ? t.to(f32) : t;
  if (x.dtype().is_complex()) x = view_as_real(x);
  return x.contiguous().view({-1});
}
Tensor piece(const Tensor& flat, int64_t begin) {
  return slice(flat, 0, begin, std::min(begin + kComparedPiece, flat.numel())).to(f64).contiguous();
}

}  // namespace

Difference compare(const Tensor& a, const Tensor& b) {
  DY_CHECK_AS(ValueError, a.sizes() == b.sizes(), "compare: shapes differ: {} and {}", describe(a), describe(b));
  NoGrad guard;
  const Tensor x = flat(a), y = flat(b);
  DY_CHECK_AS(ValueError, x.numel() == y.numel(), "compare: complex with real numbers: {} and {}", describe(a), describe(b));
  Difference d;
  double squares = 0;
  for (int64_t begin = 0; begin < x.numel(); begin += kComparedPiece) {
    const Tensor p = piece(x, begin), q = piece(y, begin);
    const double *u = p.data<double>(), *v = q.data<double>();
    double sum = 0;
    for (int64_t i = 0; i < p.numel(); ++i) {
      if (u[i] == v[i] || (std::isnan(u[i]) && std::isnan(v[i]))) continue;
      ++d.different;
      double e = std::fabs(u[i] - v[i]);
      if (std::isnan(e)) e = INFINITY;
      d.max_abs = std::max(d.max_abs, e);
      sum += e * e;
    }
    squares += sum;
  }
  d.exact = d.different == 0;
  if (x.numel()) d.rmse = std::sqrt(squares / double(x.numel()));
  return d;
}

Statistics statistics(const Tensor& t) {
  constexpr int kBins = 16;
  NoGrad guard;
  const Tensor x = flat(t);
  Statistics s;
  double low = INFINITY, high = -INFINITY, sum = 0;
  int64_t n = 0;
  const auto each = [&](auto&& f) {
    for (int64_t begin = 0; begin < x.numel(); begin += kComparedPiece) {
      const Tensor p = piece(x, begin);
      const double* v = p.data<double>();
      for (int64_t i = 0; i < p.numel(); ++i) f(v[i]);
    }
  };
  each([&](double v) {
    s.nans += std::isnan(v);
    s.infinities += std::isinf(v);
    if (!std::isfinite(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
    sum += v;
    ++n;
  });
  if (n == 0) return s;
  s.min = low, s.max = high, s.mean = sum / double(n);
  s.histogram.resize(kBins);
  const double scale = high > low ? kBins / (high / 2 - low / 2) / 2 : 0;  // high - low may be infinite
  double squares = 0;
  each([&](double v) {
    if (!std::isfinite(v)) return;
    squares += (v - s.mean) * (v - s.mean);
    ++s.histogram[size_t(std::min(double(kBins - 1), (v - low) * scale))];
  });
  s.std = std::sqrt(squares / double(n));
  return s;
}

}  // namespace dyadic::inline v1::io
