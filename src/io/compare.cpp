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

// The elements of a tensor in order, of a large blocked one some rows at a time, where its blocks end with them.
class Elements {
  Tensor t_;
  int64_t row_ = 1;  // elements of what dimension 0 counts

 public:
  int64_t step = kComparedPiece;  // pieces begin at multiples of it

  explicit Elements(const Tensor& t) : t_(t) {
    if (t.dtype().is_blocked() && t.dim() > 1 && t.numel()) {
      row_ = t.numel() / t.size(0);
      const int64_t rows = kComparedPiece / row_ / 128 * 128 + 128;  // whole tiles
      if (rows < t.size(0)) try {
          slice(t, 0, rows, std::min(2 * rows, t.size(0)));
          step = rows * row_;
          return;
        } catch (const ValueError&) {}
    }
    row_ = 1;
    if (t.dtype().is_blocked()) t_ = t.to(f32);
    if (t_.dtype().is_complex()) t_ = view_as_real(t_);
    t_ = t_.contiguous().view({-1});
  }
  int64_t count() const { return t_.numel(); }
  Tensor piece(int64_t begin, int64_t n) const {
    const Tensor part = slice(t_, 0, begin / row_, std::min(begin + n, count()) / row_);
    return (part.dtype().is_blocked() ? part.to(f32) : part).to(f64).contiguous();
  }
};

}  // namespace

Difference compare(const Tensor& a, const Tensor& b) {
  DY_CHECK_AS(ValueError, a.sizes() == b.sizes(), "compare: shapes differ: {} and {}", describe(a), describe(b));
  NoGrad guard;
  Elements x(a), y(b);
  if (x.step != y.step && x.step != kComparedPiece && y.step != kComparedPiece) x = Elements(a.to(f32));
  const int64_t step = std::max(x.step, y.step);
  DY_CHECK_AS(ValueError, x.count() == y.count(), "compare: complex with real numbers: {} and {}", describe(a), describe(b));
  Difference d;
  double squares = 0;
  for (int64_t begin = 0; begin < x.count(); begin += step) {
    const Tensor p = x.piece(begin, step), q = y.piece(begin, step);
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
  if (x.count()) d.rmse = std::sqrt(squares / double(x.count()));
  return d;
}

Statistics statistics(const Tensor& t) {
  constexpr int kBins = 16;
  NoGrad guard;
  const Elements x(t);
  Statistics s;
  double low = INFINITY, high = -INFINITY, sum = 0;
  int64_t n = 0;
  const auto each = [&](auto&& f) {
    for (int64_t begin = 0; begin < x.count(); begin += x.step) {
      const Tensor p = x.piece(begin, x.step);
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
