// The style sheet of report.html, as one text without references to anything outside.
#pragma once

namespace dyadic::inline v1::study {
extern const char* const kReportStyle;
}  // namespace dyadic::inline v1::study
