// A table of functions for each of the numbers that matrices are computed in.
#pragma once
#include <complex>
#include <type_traits>

namespace dyadic::inline v1 {

template <template <class> class Table> struct ByNumber {
  Table<float> s;
  Table<double> d;
  Table<std::complex<float>> c;
  Table<std::complex<double>> z;

  template <class T> const Table<T>& of() const {
    if constexpr (std::is_same_v<T, float>) return s;
    if constexpr (std::is_same_v<T, double>) return d;
    if constexpr (std::is_same_v<T, std::complex<float>>) return c;
    if constexpr (std::is_same_v<T, std::complex<double>>) return z;
  }
};

}  // namespace dyadic::inline v1
