// report.json: the whole result of a study as one JSON document, and back. Figures that are not finite or not known are null;
// every entry of "bytes" is {"predicted", "measured"}. Text that is not UTF-8 (file names) is written with U+FFFD.
#pragma once
#include <string>
#include <string_view>

#include "dyadic/study_result.h"

namespace dyadic::inline v1::study {

std::string report_json(const StudyResult& result);  // indented, ends with a newline
StudyResult parse_report(std::string_view json);     // ValueError: not a report of a version we know

}  // namespace dyadic::inline v1::study
