// What is asked of a study, before anything is trained.
#pragma once
#include <string>
#include <vector>

#include "study/run.h"

namespace dyadic::inline v1::study {

std::vector<Recipe> chosen_recipes(const StudyRequest& q);   // f32 first, each once; ValueError for one that cannot be
std::vector<Recipe> named_recipes(std::vector<Recipe> all);  // each with a name; ValueError where two differ and share one
void check_tolerance(const char* who, const std::string& name, double tolerance);
void check_request(const StudyRequest& q);                    // ValueError for what is out of range
std::string option(const StudyRequest& q, const char* name);  // what the caller calls it

}  // namespace dyadic::inline v1::study
