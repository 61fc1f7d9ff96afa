#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dyadic::inline v1::models {

// A mean, NaN of nothing, and its standard error: sqrt(variance / (n - 1)).
class Mean {
  double sum_ = 0, squares_ = 0;
  int64_t n_ = 0;

 public:
  void add(double v) { sum_ += v, squares_ += v * v, ++n_; }
  int64_t count() const { return n_; }
  double value() const { return sum_ / double(n_); }
  double standard_error() const {
    return n_ > 1 ? std::sqrt(std::max(squares_ / double(n_) - value() * value(), 0.0) / double(n_ - 1)) : 0;
  }
};

}  // namespace dyadic::inline v1::models
