// What a recipe's runs amount to, and what went wrong with one.
#pragma once
#include <string>
#include <vector>

#include "base/parallel.h"
#include "study/evaluate.h"

namespace dyadic::inline v1::study {

// Its losses, one evaluation per seed, beside f32's, which they are of f32 itself.
void conclude(RecipeResult& r, const std::vector<Evaluation>& losses, std::vector<Evaluation>& f32, const Measure& measure,
              int64_t window);

// Runs what may fail under one recipe or format alone: empty, or the error in one line with the module it came from. What fails
// in f32, the reference, is wrong with the study and thrown on, as is what ends it (Ctrl-C).
std::string error_of(const std::string& name, FunctionRef<void()> work);

// What `judge` makes of a format, or the row of one that failed.
FormatResult judged_or_failed(const std::string& name, FunctionRef<FormatResult()> judge);

// A note where measured peaks are not the predicted ones. `depends`: on what beside the first batch; empty: not known.
void note_memory(StudyResult& study, const std::string& depends);

}  // namespace dyadic::inline v1::study
