// The answer of a study: the recipe and the format that cost least among those whose loss is close enough to f32's.
#pragma once
#include "dyadic/study_result.h"

namespace dyadic::inline v1::study {

// A candidate is close enough when the 95 % upper bound of what it loses (LossDelta::upper; of the loss, or of the metric where
// there is one) is at most options.tolerance times f32's. Cost is the measured peak (recipes) and the bytes of the model
// (formats), or the time of a step and of a token. Costs within 0.1 % (memory) or 2 % (time, which is noisy) of the least are a
// tie: the smaller loss wins, then the order of the list. Recipes that are not done do not take part. Nothing qualifies: f32,
// and why.
Recommendation recommend(const StudyResult& result);

bool within_tolerance(const StudyResult& study, const LossDelta& d);
// The same of a format that may be recommended: where its weights are one run's, half is kept for those of other seeds.
bool may_store(const StudyResult& study, const LossDelta& d);

// In one sentence: which precision, for this model, on this machine, and what is lost. Both reports open or close with it.
std::string headline(const StudyResult& result);

}  // namespace dyadic::inline v1::study
