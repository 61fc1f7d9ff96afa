// nn.init: the variances that depend on a layer's sizes, and the matrices with structure.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "dyadic/linalg.h"
#include "dyadic/nn.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::nn::init {
namespace {

struct Fans {
  double in, out;
};
Fans fans(const char* who, const Tensor& t) {
  DY_CHECK_AS(ValueError, t.dim() >= 2, "init.{}: fans need two dimensions: tensor is {}", who, describe(t));
  double taps = 1;
  for (int64_t d = 2; d < t.dim(); ++d) taps *= double(t.size(d));
  return {double(t.size(1)) * taps, double(t.size(0)) * taps};
}
double xavier_std(const char* who, const Tensor& t, double gain) {
  const Fans f = fans(who, t);
  return gain * std::sqrt(2 / std::max(f.in + f.out, 1.0));
}
double kaiming_std(const char* who, const Tensor& t, double a, std::string_view mode, std::string_view nonlinearity) {
  DY_CHECK_AS(ValueError, mode == "fan_in" || mode == "fan_out",
              "init.{}: unknown mode \"{}\"; the known ones are fan_in and fan_out", who, mode);
  const Fans f = fans(who, t);
  return calculate_gain(nonlinearity, a) / std::sqrt(std::max(mode == "fan_in" ? f.in : f.out, 1.0));
}

void write(const Tensor& t, const std::vector<double>& values) {
  NoGrad guard;
  t.detach().copy_(from_data(values.data(), t.sizes(), f64));
}

}  // namespace

double calculate_gain(std::string_view nonlinearity, std::optional<double> param) {
  for (std::string_view linear :
       {"linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"})
    if (nonlinearity == linear) return 1;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "selu") return 0.75;
  DY_CHECK_AS(
      ValueError, nonlinearity == "leaky_relu",
      "init.calculate_gain: unknown nonlinearity \"{}\"; the known ones are linear, conv1d to conv3d, conv_transpose1d to "
      "conv_transpose3d, sigmoid, tanh, relu, leaky_relu and selu",
      nonlinearity);
  const double slope = param.value_or(0.01);
  return std::sqrt(2 / (1 + slope * slope));
}

void xavier_uniform_(const Tensor& t, double gain) {
  const double bound = std::sqrt(3.0) * xavier_std("xavier_uniform_", t, gain);
  uniform_(t, -bound, bound);
}
void xavier_normal_(const Tensor& t, double gain) { normal_(t, 0, xavier_std("xavier_normal_", t, gain)); }
void kaiming_uniform_(const Tensor& t, double a, std::string_view mode, std::string_view nonlinearity) {
  const double bound = std::sqrt(3.0) * kaiming_std("kaiming_uniform_", t, a, mode, nonlinearity);
  uniform_(t, -bound, bound);
}
void kaiming_normal_(const Tensor& t, double a, std::string_view mode, std::string_view nonlinearity) {
  normal_(t, 0, kaiming_std("kaiming_normal_", t, a, mode, nonlinearity));
}

void trunc_normal_(const Tensor& t, double mean, double std, double a, double b) {
  DY_CHECK_AS(ValueError, std > 0 && a < b, "init.trunc_normal_: no values: std is {}, a is {}, b is {}", std, a, b);
  if (t.is_meta()) return;
  auto phi = [](double x) { return 0.5 * std::erfc(-x * 0.7071067811865476); };
  // Of the two tails the lower one, where numbers are close.
  double from = (a - mean) / std, to = (b - mean) / std;
  const double sign = from > 0 ? -1 : 1;
  if (sign < 0) from = -std::exchange(to, -from);
  const double low = phi(from), high = phi(to);
  NoGrad guard;
  const Tensor p = rand(t.sizes(), f64).mul(high - low).add(low);
  t.detach().copy_(ndtri(p).mul(sign * std).add(mean).clamp(a, b));
}

void eye_(const Tensor& t) {
  DY_CHECK_AS(ValueError, t.dim() == 2, "init.eye_: it takes a matrix: tensor is {}", describe(t));
  if (t.is_meta()) return;
  NoGrad guard;
  t.detach().copy_(eye(t.size(0), t.size(1)));
}

void dirac_(const Tensor& t, int64_t groups) {
  DY_CHECK_AS(ValueError, t.dim() >= 3 && t.dim() <= 5 && groups > 0 && t.size(0) % groups == 0,
              "init.dirac_: it takes a convolution's weight, whose size(0) groups divide: tensor is {}, groups is {}",
              describe(t), groups);
  if (t.is_meta()) return;
  int64_t taps = 1, middle = 0;
  for (int64_t d = 2; d < t.dim(); ++d) taps *= t.size(d), middle = middle * t.size(d) + t.size(d) / 2;
  std::vector<double> values(size_t(t.numel()), 0.0);
  const int64_t filters = t.size(0) / groups;
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t c = 0; c < std::min(filters, t.size(1)); ++c)
      values[size_t(((g * filters + c) * t.size(1) + c) * taps + middle)] = 1;
  write(t, values);
}

// The vectors of a normal matrix made orthonormal one after the other: the q of its qr where r's diagonal is positive. They are
// columns, or rows where there are fewer: random signs are N(0, 1)'s own.
void orthogonal_(const Tensor& t, double gain) {
  DY_CHECK_AS(ValueError, t.dim() >= 2, "init.orthogonal_: it takes two dimensions or more: tensor is {}", describe(t));
  if (t.is_meta() || t.numel() == 0) return;
  const int64_t rows = t.size(0), cols = t.numel() / rows;
  NoGrad guard;
  const auto [q, r] = linalg::qr(randn({std::min(rows, cols), std::max(rows, cols)}, f64).t());
  const Tensor columns = q.mul(r.diagonal().sign()).mul(gain);
  t.detach().copy_((rows < cols ? columns.t() : columns).reshape(t.sizes()));
}

void sparse_(const Tensor& t, double sparsity, double std) {
  DY_CHECK_AS(ValueError, t.dim() == 2 && sparsity >= 0 && sparsity <= 1,
              "init.sparse_: it takes a matrix and a share: tensor is {}, sparsity is {}", describe(t), sparsity);
  if (t.is_meta()) return;
  const int64_t rows = t.size(0), cols = t.size(1), zero = int64_t(std::ceil(sparsity * double(rows)));
  std::vector<double> values = randn({rows, cols}, f64).to_vector(), keys = rand({cols, rows}, f64).to_vector();
  std::vector<int64_t> order(static_cast<size_t>(rows));
  for (int64_t c = 0; c < cols; ++c) {
    std::iota(order.begin(), order.end(), 0);
    const double* key = keys.data() + c * rows;
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return key[a] < key[b]; });
    for (int64_t r = 0; r < rows; ++r) values[size_t(order[size_t(r)] * cols + c)] *= r < zero ? 0 : std;
  }
  write(t, values);
}

}  // namespace dyadic::inline v1::nn::init
