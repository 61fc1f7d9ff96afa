// Figures as people read them, the same in every report. Unknown figures are an en dash.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace dyadic::inline v1::study {

inline constexpr const char* kDash = "\u2013";

std::string bytes_text(std::optional<int64_t> bytes);  // "812 B", "14.2 MiB"
std::string bytes_text(double bytes);
std::string quantity_text(double x);               // three figures and a unit prefix: "131 k", "1.20 M"; no prefix: "42.3"
std::string count_text(std::optional<int64_t> n);  // "12,345"
std::string loss_text(double nats);                // four decimals
std::string delta_text(double nats);               // signed, four decimals, with a true minus; "0" when exactly nothing
std::string error_text(double se);                 // four decimals, "<0.0001" rather than a false zero
std::string small_text(double x);                  // two figures, with an exponent where four decimals hide them: KL
std::string tolerance_text(double share);          // "1 %", "0.25 %": as it was asked
std::string percent_text(double share);            // of 1: "0.42 %", "57 %"; "< 0.01 %" rather than a false zero
std::string ratio_text(double ratio);              // "3.8x"
std::string milliseconds_text(double ms);          // three figures: "12.3", "0.842"
std::string elapsed_text(double seconds);          // in words: "41 s", "2 min 51 s", "3 h 4 min"

}  // namespace dyadic::inline v1::study
