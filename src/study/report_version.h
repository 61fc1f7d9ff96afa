// The version of report.json's layout: raised when a reader of the one before would misread it. Newer ones are refused.
#pragma once

namespace dyadic::inline v1::study {
inline constexpr int kReportVersion = 1;
}  // namespace dyadic::inline v1::study
