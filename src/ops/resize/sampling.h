// Elements between elements: what grid_sample reads at real positions.
#pragma once
#include "ops/composite.h"

namespace dyadic::inline v1::ops {

enum class Outside : uint8_t { zeros, border, reflection };  // what stands beyond the edges
enum class Between : uint8_t { nearest, linear, cubic };
Outside read_padding(const char* who, std::string_view text);
Between read_mode(const char* who, std::string_view text);

// One neighbour of each position along one axis.
struct Tap {
  Tensor index;   // int64, inside
  Tensor weight;  // undefined: 1
};
// `at`: positions in [-1, 1] over n elements (align: -1 and 1 are the centers of the outer elements, else their outer edges).
std::vector<Tap> taps_along(const Tensor& at, int64_t n, Between between, Outside outside, bool align);

}  // namespace dyadic::inline v1::ops
