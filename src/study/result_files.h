// What a study keeps in its folder of a recipe that has been trained.
#pragma once
#include <functional>
#include <string>

#include "dyadic/study_result.h"
#include "study/evaluate.h"

namespace dyadic::inline v1::study {

// Losses of the evaluation, and what its metric is made of. load: ValueError where there are none, no metric where there should
// be one, or another number than `items` (0: any).
void save_losses(const std::string& file, const Evaluation& e);
Evaluation load_losses(const std::string& file, bool metric, size_t items);

// What one rank has found, as a report; and of each recipe that is not done what is in its file, if there is one.
void save_results(const std::string& file, const StudyResult& result);
void take_results(StudyResult& result, const std::function<std::string(const std::string& recipe)>& file_of);

}  // namespace dyadic::inline v1::study
