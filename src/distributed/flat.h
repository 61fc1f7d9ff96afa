// What ranks add, side by side in one tensor: gradients, floating buffers, whether there was a gradient, and a few numbers.
#pragma once
#include <vector>

#include "distributed/call.h"

namespace dyadic::inline v1::distributed {

class Flat {
  std::vector<Tensor> params_, buffers_;
  int64_t n_ = 0, parameter_end_ = 0;
  DType dtype_ = f32;
  Device device_ = cpu;
  void add(const Tensor& t, std::vector<Tensor>& list);

 public:
  // Of those parameters that require grad, and of those buffers that are floats; added in `dtype` at least.
  Flat(const std::vector<Tensor>& params, const std::vector<Tensor>& buffers, DType dtype = f32);
  Flat(const std::vector<Tensor>& buffers, DType dtype, Device device);  // without gradients, added in that dtype
  static constexpr int64_t kNumbers = 2;
  int64_t size() const { return n_ + int64_t(params_.size()) + kNumbers; }
  DType dtype() const { return dtype_; }  // f32, or f64 where there is one
  Device device() const { return device_; }

  // Gradients go from the parameters into it; buffers are weighed.
  Tensor take(double weight, const double (&numbers)[kNumbers]) const;
  // The other way: a gradient where any rank had one. On meta the numbers are 0. With parameters spread over ranks only
  // gradients of `mine` are given, and the rest of `flat` is let go.
  void give(const Tensor& flat, double (&numbers)[kNumbers]) const;
  void give(const Tensor& flat, double (&numbers)[kNumbers], const Range& mine) const;

  // Whole parameters for each rank, of about as many elements; the last rank has all that follows them.
  std::vector<Range> spread(int ranks) const;
  std::vector<int> owners(int ranks) const;  // of params(), by that
  Range tail() const { return {parameter_end_, size()}; }
  const std::vector<Tensor>& params() const { return params_; }
};

}  // namespace dyadic::inline v1::distributed
