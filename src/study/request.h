// What is asked of a study, before anything is trained.
#pragma once
#include <string>
#include <vector>

#include "study/run.h"

namespace dyadic::inline v1::study {

std::vector<Recipe> chosen_recipes(const StudyRequest& q);    // f32 first, each once; ValueError for one that cannot be
void check_request(const StudyRequest& q);                    // ValueError for what is out of range
std::string option(const StudyRequest& q, const char* name);  // what the caller calls it

}  // namespace dyadic::inline v1::study
