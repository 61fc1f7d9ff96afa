// Figures as people read them.
#include "study/numbers.h"

#include <fmt/format.h>

#include <cmath>

namespace dyadic::inline v1::study {

namespace {
// Three significant figures, never an exponent below a thousand.
std::string three(double x) {
  const double a = std::fabs(x);
  return fmt::format("{:.{}f}", x, a >= 99.95 ? 0 : a >= 9.995 ? 1 : a >= 0.9995 ? 2 : 3);
}
// Four decimals; of what is so large that they say nothing, four figures.
std::string four(double x) { return std::fabs(x) < 1e5 ? fmt::format("{:.4f}", x) : fmt::format("{:.3e}", x); }
}  // namespace

std::string bytes_text(double bytes) {
  if (!std::isfinite(bytes)) return kDash;
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  while (std::fabs(bytes) >= 999.5 && unit < 5) bytes /= 1024, ++unit;
  return fmt::format("{} {}", unit == 0 ? fmt::format("{:.0f}", bytes) : three(bytes), kUnits[unit]);
}

std::string bytes_text(std::optional<int64_t> bytes) { return bytes ? bytes_text(double(*bytes)) : kDash; }

std::string quantity_text(double x) {
  if (!std::isfinite(x)) return kDash;
  static constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T", " P"};
  int prefix = 0;
  while (std::fabs(x) >= 999.5 && prefix < 5) x /= 1000, ++prefix;
  return three(x) + kPrefixes[prefix];
}

std::string count_text(std::optional<int64_t> n) {
  if (!n) return kDash;
  std::string digits = fmt::format("{}", *n < 0 ? 0 - uint64_t(*n) : uint64_t(*n));
  for (int at = int(digits.size()) - 3; at > 0; at -= 3) digits.insert(size_t(at), ",");
  return (*n < 0 ? "\u2212" : "") + digits;
}

std::string loss_text(double nats) { return std::isfinite(nats) ? four(nats) : kDash; }

std::string error_text(double se) {
  if (!std::isfinite(se)) return kDash;
  if (se == 0) return "0";
  return se < 0.00005 ? "<0.0001" : four(se);
}

std::string delta_text(double nats) {
  if (!std::isfinite(nats)) return kDash;
  if (nats == 0) return "0";
  const double a = std::fabs(nats);
  return a < 0.00005 ? "0.0000" : (nats < 0 ? "\u2212" : "+") + four(a);
}

std::string small_text(double x) {
  if (!std::isfinite(x)) return kDash;
  if (x == 0) return "0";
  return x >= 0.00095 ? fmt::format("{:.4f}", x) : fmt::format("{:.1e}", x);
}

std::string tolerance_text(double share) { return std::isfinite(share) ? fmt::format("{:g} %", share * 100) : kDash; }

std::string percent_text(double share) {
  if (!std::isfinite(share)) return kDash;
  if (share == 0) return "0 %";
  const double p = share * 100, a = std::fabs(p);
  if (a < 0.01) return (p < 0 ? "> \u22120.01 %" : "< 0.01 %");
  // 99.996 % must not read as all of it.
  if (p < 100 && p >= 99.995) return "> 99.99 %";
  return fmt::format("{}{:.{}f} %", p < 0 ? "\u2212" : "", a, a < 10 || (a > 98.95 && a < 100) ? 2 : a < 99.95 ? 1 : 0);
}

std::string ratio_text(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.{}f}x", ratio, ratio >= 9.95 ? 0 : ratio >= 1.95 ? 1 : 2) : kDash;
}

std::string milliseconds_text(double ms) { return std::isfinite(ms) ? three(ms) : kDash; }

std::string elapsed_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return kDash;
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const int64_t s = std::llround(seconds);
  if (s < 60) return fmt::format("{} s", s);
  return s < 3600 ? fmt::format("{} min {} s", s / 60, s % 60) : fmt::format("{} h {} min", s / 3600, s / 60 % 60);
}

}  // namespace dyadic::inline v1::study
