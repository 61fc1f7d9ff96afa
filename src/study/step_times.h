// What a step takes under each recipe, compared in the same minutes: another program's busy one must not choose.
#pragma once
#include "dyadic/progress.h"
#include "study/subject.h"

namespace dyadic::inline v1::study {

double median(std::vector<double> values);  // kUnknown of none

// The time and the speeds that follow from it. `items`: of a batch.
void set_step_time(RecipeResult& r, double step_s, int64_t items, double flops_per_step);

double flops_of_step(const RecipeResult& r);  // a whole number, from the time and the speed; kUnknown of none

inline constexpr double kSpreadWorthSaying = 0.15;

// After training: what the process grows by under each recipe, then three to five short runs from the beginning, in which all
// recipes alternate, a twentieth of the steps of training and up to a fifth where steps are short. A recipe that ends in an
// error here has a note, and keeps the time of training. Changes nothing else. false: interrupted.
bool time_in_turns(Subject& subject, const std::vector<Recipe>& recipes, FunctionRef<Plan(const std::string& recipe)> plan_of,
                   StudyResult& study, train::Progress& progress);

}  // namespace dyadic::inline v1::study
