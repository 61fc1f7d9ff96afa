#include "ops/resize/sampling.h"

#include <algorithm>

namespace dyadic::inline v1::ops {
namespace {

// Mirrored at low / 2 and high / 2 as often as needed.
Tensor reflected(const Tensor& x, int64_t low, int64_t high) {
  if (low == high) return mul(x, 0.0);
  const double least = double(low) / 2, span = double(high - low) / 2;
  const Tensor away = abs(sub(x, least)), times = floor(div(away.detach(), span)), rest = sub(away, mul(times, span));
  return add(where(eq(remainder(times, 2.0), 0.0), rest, sub(span, rest)), least);
}
Tensor inside(const Tensor& x, int64_t n, Outside outside, bool align) {
  if (outside == Outside::zeros) return x;
  const Tensor y = outside == Outside::border ? x : align ? reflected(x, 0, 2 * (n - 1)) : reflected(x, -1, 2 * n - 1);
  return clamp(y, 0.0, double(n - 1));
}
// A neighbour at whole positions: those outside count nothing where zeros stand there, else what stands in their place.
Tap tap(const Tensor& at, const Tensor& weight, int64_t n, Outside outside) {
  Tap t{clamp(to(at, i64), 0, n - 1), weight};
  if (outside != Outside::zeros) return t;
  const Tensor within = logical_and(ge(at, 0.0), le(at, double(n - 1))), none = scalar_tensor(0.0);
  t.weight = where(within, weight.defined() ? weight : ones(at.sizes(), at.dtype(), at.device()), none);
  return t;
}
// The cubic convolution with a = -0.75 at distances up to 1 and from 1 to 2 (Keys 1981).
Tensor near_weight(const Tensor& d) { return add(mul(mul(sub(mul(d, 1.25), 2.25), d), d), 1.0); }
Tensor far_weight(const Tensor& d) { return add(mul(sub(mul(add(mul(d, -0.75), 3.75), d), 6.0), d), 3.0); }

}  // namespace

Outside read_padding(const char* who, std::string_view text) {
  constexpr std::string_view kNames[] = {"zeros", "border", "reflection"};
  const auto* at = std::find(std::begin(kNames), std::end(kNames), text);
  DY_CHECK_AS(ValueError, at != std::end(kNames),
              "{}: unknown padding_mode \"{}\"; the known ones are zeros, border and reflection", who, text);
  return Outside(at - kNames);
}
Between read_mode(const char* who, std::string_view text) {
  constexpr std::string_view kNames[] = {"nearest", "bilinear", "bicubic"};
  const auto* at = std::find(std::begin(kNames), std::end(kNames), text);
  DY_CHECK_AS(ValueError, at != std::end(kNames), "{}: unknown mode \"{}\"; the known ones are bilinear, nearest and bicubic",
              who, text);
  return Between(at - kNames);
}

std::vector<Tap> taps_along(const Tensor& position, int64_t n, Between between, Outside outside, bool align) {
  const Tensor x = align ? mul(add(position, 1.0), double(n - 1) / 2) : div(sub(mul(add(position, 1.0), double(n)), 1.0), 2.0);
  if (between == Between::nearest) {
    const Tensor weight =
        GradMode::enabled() && position.requires_grad() ? constant_in(ones(x.sizes(), x.dtype(), x.device()), x) : Tensor();
    return {tap(round(inside(x, n, outside, align).detach()), weight, n, outside)};  // the places' gradient is 0
  }
  const Tensor at = between == Between::linear ? inside(x, n, outside, align) : x, first = floor(at.detach());
  const Tensor t = sub(at, first), rest = sub(1.0, t);
  if (between == Between::linear) return {tap(first, rest, n, outside), tap(add(first, 1.0), t, n, outside)};
  const Tensor weights[] = {far_weight(add(t, 1.0)), near_weight(t), near_weight(rest), far_weight(add(rest, 1.0))};
  std::vector<Tap> taps;
  for (int i = 0; i < 4; ++i) taps.push_back(tap(inside(add(first, double(i - 1)), n, outside, align), weights[i], n, outside));
  return taps;
}

}  // namespace dyadic::inline v1::ops
