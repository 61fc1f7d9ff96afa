// Recipes: the ways a study trains one model. A registry; a new recipe is one entry.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "dyadic/dtype.h"

namespace dyadic::inline v1::study {

struct Recipe {
  std::string name, doc;
  DType parameters = f32;            // what weights are stored in
  DType compute = {};                // autocast's low precision; none: compute in the parameters' dtype
  bool scaler = false;               // dynamic loss scaling
  bool stochastic_rounding = false;  // of the parameter update
  DType state = f32;                 // of the optimizer
};
const std::vector<Recipe>& recipes();
const Recipe& recipe(std::string_view name);  // ValueError listing the known ones

}  // namespace dyadic::inline v1::study
