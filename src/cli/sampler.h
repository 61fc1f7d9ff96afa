// Choosing the next token from a model's logits.
#pragma once
#include <cstdint>
#include <span>

namespace dyadic::inline v1::cli {

struct Sampling {
  double temperature = 1;  // logits are divided by it; 0: always the most likely token
  int64_t top_k = 0;       // only the k most likely; 0: all
  double top_p = 1;        // only the most likely ones that together have this probability (after top_k)
};
// The token that `uniform`, from [0, 1), stands for. Equal logits count in the order of their ids, so that the choice is a
// function of its arguments alone. Error when no logit is finite; those that are not finite are never chosen.
int64_t sample_token(std::span<const float> logits, const Sampling& how, double uniform);

}  // namespace dyadic::inline v1::cli
