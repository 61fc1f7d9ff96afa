// Ops that call the C library, whose functions a GPU has with other last bits: where, they are near the host's instead of
// equal.
#pragma once
#include <algorithm>
#include <string_view>

#include "corridor/call.h"
#include "dyadic/dtype.h"

namespace dyadic {

inline bool is_of_the_library(Op op, DType d) {
  constexpr std::string_view kAlways[] = {"bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "lgamma", "igamma",
                                          "igammac",   "zeta",      "sin",       "cos",       "tan",    "sinc"};
  constexpr std::string_view kInF64[] = {"digamma", "tanh"};  // through zeta; of complex numbers
  const auto has = [name = op_name(op)](const auto& list) { return std::ranges::find(list, name) != std::end(list); };
  return has(kAlways) || ((d == f64 || d == c128) && has(kInF64));
}

}  // namespace dyadic
