// report.html: one file that holds everything (inline SVG and CSS, no scripts, nothing loaded from elsewhere); light and dark,
// narrow and wide, and printable.
#pragma once
#include <string>

#include "dyadic/study_result.h"

namespace dyadic::inline v1::study {

std::string report_html(const StudyResult& result);

}  // namespace dyadic::inline v1::study
