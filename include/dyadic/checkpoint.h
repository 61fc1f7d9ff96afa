// Activation checkpointing: memory for time.
#pragma once
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

namespace detail {
using RecomputedCall = std::vector<Tensor> (*)(void* f, const std::vector<Tensor>& inputs);
std::vector<Tensor> checkpoint(std::shared_ptr<void> f, RecomputedCall call, std::vector<Tensor> inputs);
}  // namespace detail

// f(inputs...) of which backward keeps the inputs alone: it runs f again, with the same random numbers and the same autocast,
// and differentiates that. f returns a Tensor or several; it may use leaves (parameters) that are not among the inputs, but no
// other tensors that require grad. Writing to f's inputs in place between the two runs is an error.
template <class F, class... T> auto checkpoint(F f, const T&... inputs) {
  constexpr bool one = std::is_same_v<std::invoke_result_t<F&, const T&...>, Tensor>;
  const auto call = [](void* p, const std::vector<Tensor>& x) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      if constexpr (one)
        return std::vector<Tensor>{(*static_cast<F*>(p))(x[I]...)};
      else
        return (*static_cast<F*>(p))(x[I]...);
    }(std::index_sequence_for<T...>());
  };
  std::vector<Tensor> out = detail::checkpoint(std::make_shared<F>(std::move(f)), call, {inputs...});
  if constexpr (one)
    return out[0];
  else
    return out;
}

}  // namespace dyadic::inline v1
