// A matrix, and rows of its inputs with known statistics: those that a method sees, and others to judge by.
#pragma once
#include <cmath>

#include "dyadic/dyadic.h"
#include "dyadic/quant.h"

namespace dyadic::testing {

inline constexpr int64_t kWidth = 256, kRows = 2048;

struct Layer {
  Tensor weight, seen, held_out;
  double error(const Tensor& q, const Tensor& scale = {}) const {
    const Tensor x = scale.defined() ? held_out / scale : held_out;
    const Tensor y = matmul(held_out, weight.t());
    return sqrt(mean(square(matmul(x, q.to(f32).t()) - y)) / mean(square(y))).item();
  }
};
inline Layer layer(Tensor inputs) {
  return {randn({kWidth, kWidth}), narrow(inputs, 0, 0, kRows).contiguous(), narrow(inputs, 0, kRows, kRows).contiguous()};
}
inline Tensor autoregressive(double rho) {
  const Tensor noise = randn({kWidth, 2 * kRows});
  std::vector<Tensor> x{noise[0]};
  for (int64_t i = 1; i < kWidth; ++i) x.push_back(x.back() * rho + noise[i] * std::sqrt(1 - rho * rho));
  return stack(x, 1);
}
inline Tensor low_rank() { return matmul(randn({2 * kRows, 32}), randn({32, kWidth})) + randn({2 * kRows, kWidth}) * 0.1; }
inline Tensor with_outliers() {
  const Tensor x = randn({2 * kRows, kWidth});
  for (int64_t i : {17, 80, 150, 220}) select(x, 1, i).mul_(20);
  return x;
}
// How many times less power the error of the output has than after rounding to nearest.
inline double gain(const Layer& l, DType format, const Tensor& q, const Tensor& scale = {}) {
  return std::pow(l.error(l.weight.to(format)) / l.error(q, scale), 2);
}

inline const DType kRow4 = DType::parse("i4(row)"), kGroup4 = DType::parse("i4(group=64)"), kAqlm = DType::parse("aqlm");

}  // namespace dyadic::testing
