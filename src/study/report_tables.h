// The tables of report.html, as HTML.
#pragma once
#include <string>

#include "study/result.h"

namespace dyadic::inline v1::study {

std::string recipes_table(const StudyResult& s);
std::string formats_table(const StudyResult& s);
std::string rounding_table(const StudyResult& s);   // per op, module and dtype; empty if nothing happened
std::string conditions_list(const StudyResult& s);  // machine, corpus, model, options

}  // namespace dyadic::inline v1::study
