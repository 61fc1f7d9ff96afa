// pointwise<...>, holomorphic<...> and with_complex<...> of ops/pointwise.h, whose results are types.
#pragma once
#if __CUDACC__
#pragma nv_diag_suppress 186  // lambdas compare unsigned numbers with zero, as they compare others
#endif
#include "plugins/cuda/simd.h"

#include "ops/formula.h"
#include "ops/variants.h"

namespace dyadic::gpu {

template <class... B> struct Lambdas {};
template <int k, class L> struct LambdaAt;
template <class B, class... Rest> struct LambdaAt<0, Lambdas<B, Rest...>> {
  using type = B;
};
template <int k, class B, class... Rest> struct LambdaAt<k, Lambdas<B, Rest...>> : LambdaAt<k - 1, Lambdas<Rest...>> {};

// The result's lambda and those of the gradients, for real numbers or for complex ones.
template <class F, class... B> struct Formulas {
  using Result = F;
  static constexpr int kGradients = sizeof...(B);
  template <int k> using Gradient = typename LambdaAt<k, Lambdas<B...>>::type;
};
struct NoFormulas {
  static constexpr int kGradients = 0;
};

template <int kInputs_, Types kTypes_, int kParams_, class Real_, class Complex_ = NoFormulas> struct PointwiseOp {
  static constexpr int kInputs = kInputs_, kParams = kParams_;
  static constexpr Types kTypes = kTypes_;
  using Real = Real_;
  using OnComplex = Complex_;
};

template <int N, Types types, int P = 0, class F, class... B>
constexpr PointwiseOp<N, types, P, Formulas<F, B...>> pointwise(OpInfo, F, B...) {
  return {};
}
template <int N, int P = 0, Types types, class Real, class F, class... B>
constexpr PointwiseOp<N, types, P, Real, Formulas<F, B...>> with_complex(PointwiseOp<N, types, P, Real>, F, B...) {
  return {};
}
template <class B> using ConjugatedOf = decltype(conjugated(B{}));
template <int N, Types types, int P = 0, class F, class... B>
constexpr PointwiseOp<N, types, P, Formulas<F, B...>, Formulas<F, ConjugatedOf<B>...>> holomorphic(OpInfo, F, B...) {
  return {};
}

}  // namespace dyadic::gpu
