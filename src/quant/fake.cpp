#include "quant/fake.h"

#include <cmath>

#include "base/check.h"
#include "dyadic/autograd.h"
#include "dyadic/planes.h"
#include "formats/format.h"
#include "formats/packed.h"
#include "nn/stored.h"
#include "quant/codes.h"
#include "quant/methods.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::quant {
namespace {

constexpr double kLeast = 1e-12;  // of a scale

// As [scales, weights of each].
Tensor by_scale(const Tensor& w, DType format, bool filters) {
  const auto& p = format.format()->params;
  if (p.granularity == Granularity::tensor) return w.reshape({1, -1});
  const int64_t cols = filters ? w.numel() / w.size(0) : w.size(-1);
  if (p.granularity == Granularity::row) return w.reshape({-1, cols});
  DY_CHECK_AS(
      ValueError, cols % p.block == 0,
      "quantize: learned scales are of whole groups: rows have {} elements, {} groups of {}; take i4(row), or groups that "
      "divide them",
      cols, format.name(), p.block);
  return w.reshape({-1, p.block});
}

// The value; the gradient times `factor`.
Tensor with_gradient_times(const Tensor& x, double factor) {
  const Tensor y = x * factor;
  return straight_through(x, y);
}
Tensor round_through(const Tensor& x) { return straight_through(round(x), x); }

// Scales as the format keeps them, positive.
Tensor kept_scale(const Tensor& scale, DType format) {
  const Tensor positive = clamp_min(abs(scale), kLeast);
  const DType kept(format.format()->params.scale);
  return kept == f32 ? positive : straight_through(positive.to(kept).to(f32), positive);
}

}  // namespace

std::optional<IntegerCodes> integer_codes(DType format) {
  const Format& f = *format.format();
  const auto g = f.params.granularity;
  const bool plain = g == Granularity::tensor || g == Granularity::row || g == Granularity::group;
  if (!f.is_scaled() || f.def->name[0] != 'i' || !plain || !code_map(format) || !code_map(format)->uniform) return {};
  const PlaneList planes = planes_of(f, {1, 8});
  if (planes.count != (f.params.zero ? 3 : 2)) return {};
  const int64_t half = int64_t(1) << (f.def->bits - 1);
  return IntegerCodes{-half, half - 1, f.params.zero};
}

Tensor straight_through(const Tensor& values, const Tensor& through) {
  return through.requires_grad() ? values.detach() + (through - through.detach()) : values.detach();
}

Tensor through_format(const Tensor& w, DType format, bool filters) {
  return straight_through(nn::in_format(w.detach(), format, filters).to(w.dtype()), w);
}

Tensor fake_quantize(const Tensor& x, DType format) {
  DY_CHECK_AS(ValueError, x.dtype().is_floating_point(), "fake_quantize: it takes floats: x is {}", describe(x));
  const std::string refusal = refuses_unencodable(format);
  DY_CHECK_AS(ValueError, refusal.empty(), "fake_quantize: x cannot be {}: {}", format.name(), refusal);
  return through_format(x, format, false);
}

Tensor through_scales(const Tensor& w, const Tensor& scale, DType format, bool filters) {
  const IntegerCodes codes = *integer_codes(format);
  const Tensor rows = by_scale(w, format, filters);
  const double factor = 1 / std::sqrt(double(rows.size(1)) * double(codes.high));
  const Tensor s = unsqueeze(with_gradient_times(kept_scale(scale, format), factor), 1);
  const Tensor code = round_through(clamp(rows.to(f32) / s, double(codes.low), double(codes.high)));
  return (code * s).to(w.dtype()).reshape(w.sizes());
}

Tensor first_scales(const Tensor& w, DType format, bool filters) {
  const Tensor rows = by_scale(w.detach().to(f32), format, filters);
  return clamp_min(mean(abs(rows), {1}) * (2 / std::sqrt(double(integer_codes(format)->high))), kLeast);
}

Tensor stored_with_scales(const Tensor& w, const Tensor& scale, DType format, bool filters) {
  const NoGrad guard;
  const Tensor wanted = through_scales(w.detach().to(f32), scale.detach(), format, filters);
  const int64_t cols = filters ? w.numel() / w.size(0) : w.size(-1);
  const Tensor rows = wanted.reshape({-1, cols}), stored = rows.to(format);
  const Tensor scales = planes(stored)[1].second;
  scales.copy_(kept_scale(scale.detach(), format).reshape({-1}).to(scales.dtype()));
  choose_codes(stored, rows);
  return stored.view(w.sizes());
}

Tensor through_scale(const Tensor& x, const Tensor& scale, double zero, const IntegerCodes& codes) {
  const double low = codes.zero ? double(codes.low) : -double(codes.high);
  const double factor = 1 / std::sqrt(double(x.numel()) / double(std::max<int64_t>(x.size(0), 1)) * double(codes.high));
  const Tensor s = with_gradient_times(clamp_min(abs(scale), kLeast), factor);
  const Tensor code = round_through(clamp(x.to(f32) / s + zero, low, double(codes.high)));
  return ((code - zero) * s).to(x.dtype());
}

}  // namespace dyadic::inline v1::quant
