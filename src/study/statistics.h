// The statistics of a study: what a difference in loss is worth, given how it was measured. Everything in double, in a fixed
// order.
//
// Note [Standard errors]: a recipe and f32 are compared on the same validation tokens, so the error of the difference is that
// of the mean of paired per-token differences, which is far smaller than the error of either loss. Tokens of one window share
// their context and are correlated; summing the differences per window and taking the spread of the sums (a cluster-robust
// error) is honest about that. With several seeds the spread over seeds is measured too: it holds what the chance of initial
// weights and batches does, which one seed cannot show. The reported error is the largest of the three, and the report says
// which it is. Values that are all 0 or 1, as whether an answer is right, have a bound by what flipped as well (paired_bound):
// thirty samples of which none flipped do not show that none would.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "dyadic/study_result.h"
#include "dyadic/tensor.h"

namespace dyadic::inline v1::study {

struct Mean {
  double mean = kUnknown, se = kUnknown;  // se is NaN for fewer than two values
  int64_t n = 0;
};
Mean mean_se(std::span<const double> x);
// The same mean, with the standard error of clusters of `window` consecutive values (the last may be shorter).
// NaN for fewer than two windows.
Mean mean_se_clustered(std::span<const double> x, int64_t window);

// One-sided 95 % quantile of Student's t; df >= 1, infinity gives the normal's 1.645.
double student_t95(double df);

// Of n pairs of values that are 0 or 1, `lost` went from 0 to 1 and `won` from 1 to 0: what the difference of the means is
// below with 95 % confidence (one-sided). Where few flip, Student's t knows too little: of none it would make certainty.
double paired_bound(double lost, double won, double n);

// Per-token losses of both, same tokens in the same order; one pair per seed. `window` is the length of a validation window.
// Not finite anywhere: all NaN. Throws ValueError if lengths differ.
struct PairedLosses {
  std::span<const float> f32, other;
};
LossDelta compare(std::span<const PairedLosses> seeds, int64_t window);
LossDelta compare(std::span<const float> f32, std::span<const float> other, int64_t window);
LossDelta no_difference();  // f32 beside itself: 0 +- 0

// For each token, from two rows of logits (any shift): KL(p || q) in nats, f64, >= 0. [tokens, vocabulary] gives [tokens]. NaN
// logits give NaN.
Tensor kl_divergence(const Tensor& p_logits, const Tensor& q_logits);

}  // namespace dyadic::inline v1::study
