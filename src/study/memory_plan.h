// A plan for a subject: which of its calls backward makes again, how many pieces a batch is cut into, what states are kept in.
#pragma once
#include "dyadic/plan.h"
#include "study/subject.h"

namespace dyadic::inline v1::study {

struct Allowed {
  bool accumulation = false, states = false;
  static Allowed parse(const std::vector<std::string>& names);  // ValueError listing the known ones
};

// The candidates do not depend on the limit, so that the time of what is chosen never grows with it.
MemoryPlan plan_training(Subject& subject, const Recipe& recipe, const Plan& plan, int64_t limit, Allowed allowed);
// The run that the candidate is.
Plan planned(Plan plan, const PlanCandidate& candidate);

}  // namespace dyadic::inline v1::study
