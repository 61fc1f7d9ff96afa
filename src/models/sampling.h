// Choosing the next token.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "dyadic/models.h"

namespace dyadic::inline v1::models {

struct Candidate {
  int64_t id;
  double p;
};
// What the options leave of a row of logits: candidates by falling probability, of equal ones the lower id first; they sum to
// 1. seen: the row's tokens. ValueError where no logit is finite.
std::vector<Candidate> candidates(std::span<const float> logits, std::span<const int64_t> seen, const GenerateOptions& o);
// uniform in [0, 1).
int64_t choose(std::span<const float> logits, std::span<const int64_t> seen, const GenerateOptions& o, double uniform);
void check(const GenerateOptions& o);  // ValueError for what is out of range

}  // namespace dyadic::inline v1::models
