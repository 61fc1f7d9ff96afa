// The tables of report.html, as HTML.
#pragma once
#include <string>

#include "dyadic/study_result.h"

namespace dyadic::inline v1::study {

std::string recipes_table(const StudyResult& s);
std::string formats_table(const StudyResult& s);
std::string layers_table(const StudyResult& s);     // empty where it was not asked for
std::string modules_table(const StudyResult& s);    // a map of errors: modules by recipes
std::string rounding_table(const StudyResult& s);   // per op, module and dtype; empty if nothing happened
std::string conditions_list(const StudyResult& s);  // machine, corpus, model, options

}  // namespace dyadic::inline v1::study
