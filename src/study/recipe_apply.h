// A recipe's dtypes, given to a module.
#pragma once
#include "dyadic/study.h"

namespace dyadic::inline v1::study {

// ValueError naming the field: a dtype that cannot be trained in, a rounding that there is not, a format of states.
void check_recipe(const Recipe& recipe);
std::string recipe_name(const Recipe& recipe);  // its own, or one made of what differs from f32

// f32 parameters and buffers become what the recipe stores them in; other dtypes are the model's own affair. Modules with a
// dtype of their own compute in it from now on: their autocast is off, and what they are given becomes that dtype. ValueError
// for a pattern that no module fits.
void store_parameters(nn::Module& model, const Recipe& recipe);

}  // namespace dyadic::inline v1::study
