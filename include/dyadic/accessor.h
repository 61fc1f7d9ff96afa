// Elements of a strided tensor by their indices, for loops of one's own: auto a = x.accessor<float, 2>(); a[i][j] += 1.
#pragma once
#include "dyadic/error.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1 {

// Valid while the tensor lives, so a temporary has none. Nothing is checked, and no gradient hears of what is written.
template <class T, size_t N> class Accessor {
  T* data_;
  const int64_t *sizes_, *strides_;

 public:
  Accessor(T* data, const int64_t* sizes, const int64_t* strides) : data_(data), sizes_(sizes), strides_(strides) {}
  int64_t size(int64_t dim) const { return sizes_[dim]; }
  T* data() const { return data_; }
  decltype(auto) operator[](int64_t i) const {
    T* at = data_ + i * strides_[0];
    if constexpr (N == 1)
      return (*at);
    else
      return Accessor<T, N - 1>(at, sizes_ + 1, strides_ + 1);
  }
};

template <class T> T* Tensor::data_ptr() const {
  if (dtype() != dtype_for<T>())
    throw TypeError("data_ptr: asked for " + dtype_for<T>().name() + ": self is " + dtype().name() +
                    "; convert it with to(), or take data<T>() for the bytes as they are");
  return data<T>();
}

template <class T, size_t N> Accessor<T, N> Tensor::accessor() const& {
  static_assert(N > 0);
  if (dim() != N || dtype() != dtype_for<T>())
    throw Error("accessor: asked for " + std::to_string(N) + " dimensions of " + dtype_for<T>().name() + ": self is " +
                std::to_string(dim()) + "-d, " + dtype().name());
  return {data<T>(), sizes().begin(), strides().begin()};
}

}  // namespace dyadic::inline v1
