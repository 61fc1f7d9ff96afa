// nn.init: the variances that depend on a layer's sizes, and the matrices with structure.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/text.h"
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

// x with Phi(x) = p, by bisection and then Newton's method.
double normal_quantile(double p) {
  auto phi = [](double x) { return 0.5 * std::erfc(-x * 0.7071067811865476); };
  double low = -40, high = 40;
  for (int i = 0; i < 20; ++i) {
    const double x = (low + high) / 2;
    (phi(x) < p ? low : high) = x;
  }
  double x = (low + high) / 2;
  for (int i = 0; i < 3; ++i) {
    const double density = std::exp(-x * x / 2) * 0.3989422804014327;
    if (density < 1e-300) break;
    x = std::clamp(x - (phi(x) - p) / density, low, high);
  }
  return x;
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
  const double low = phi((a - mean) / std), high = phi((b - mean) / std);
  std::vector<double> values = rand(t.sizes(), f64).to_vector();
  for (double& v : values) v = std::clamp(mean + std * normal_quantile(low + v * (high - low)), a, b);
  write(t, values);
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

// Gram-Schmidt, twice per vector, on columns (or rows, where there are fewer): random signs are N(0, 1)'s own.
void orthogonal_(const Tensor& t, double gain) {
  DY_CHECK_AS(ValueError, t.dim() >= 2, "init.orthogonal_: it takes two dimensions or more: tensor is {}", describe(t));
  if (t.is_meta() || t.numel() == 0) return;
  const int64_t rows = t.size(0), cols = t.numel() / rows, count = std::min(rows, cols), length = std::max(rows, cols);
  std::vector<double> v = randn({count, length}, f64).to_vector();
  auto vector = [&](int64_t i) { return v.data() + i * length; };
  for (int64_t i = 0; i < count; ++i) {
    double* x = vector(i);
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t j = 0; j < i; ++j) {
        const double along = std::inner_product(x, x + length, vector(j), 0.0);
        for (int64_t k = 0; k < length; ++k) x[k] -= along * vector(j)[k];
      }
    const double norm = std::sqrt(std::inner_product(x, x + length, x, 0.0));
    for (int64_t k = 0; k < length; ++k) x[k] *= 1 / norm;
  }
  std::vector<double> values(size_t(rows * cols), 0.0);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) values[size_t(r * cols + c)] = gain * (rows < cols ? vector(r)[c] : vector(c)[r]);
  write(t, values);
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
