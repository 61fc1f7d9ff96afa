// The report on a terminal: aligned tables of recipes and formats, the recommendation last. UTF-8.
#pragma once
#include <string>

#include "dyadic/study_result.h"

namespace dyadic::inline v1::study {

struct TextOptions {
  int width = 100;     // columns; fewer columns leave out the less important figures, they never wrap
  bool color = false;  // ANSI
};
std::string report_text(const StudyResult& result, const TextOptions& options = {});

}  // namespace dyadic::inline v1::study
