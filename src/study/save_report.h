// A report as files, and the machine that it speaks of.
#pragma once
#include <string>

#include "dyadic/study_result.h"

namespace dyadic::inline v1::study {

Machine this_machine();  // its peaks are measured: a second

// report.json and report.html in the folder, each whole or not at all.
void save_report(const StudyResult& result, const std::string& folder);

// The folder is made if need be; an Error naming `option` where nothing can be written there.
void check_writable(const std::string& folder, const std::string& option);

}  // namespace dyadic::inline v1::study
