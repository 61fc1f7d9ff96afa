// What ran: calls, FLOPs and bytes by op and dtype, counted in the corridor while a Counting scope lives; and rounding events.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "dyadic/dtype.h"

namespace dyadic::inline v1 {

struct OpCount {
  std::string op;
  DType dtype;  // of the first floating input as the kernel saw it; the output's where there is none
  int64_t calls = 0;
  double flops = 0, bytes = 0;  // bytes read and written, each tensor once
};

// While it lives, every call of this thread is counted (forward, backward and optimizer alike).
class Counting {
  uint32_t before_;

 public:
  Counting();
  ~Counting();
  Counting(const Counting&) = delete;
  static std::vector<OpCount> counts();  // since the last clear, sorted by op and dtype
  static double flops();
  static std::string table();  // of text: the most FLOPs first
  static void clear();
};

// Elements of results, by what rounding has made of them.
struct RoundingCount {
  std::string op, module;
  DType dtype;  // of the result
  int64_t calls = 0, elements = 0;
  int64_t overflows = 0;  // finite in the wider shadow, infinite or NaN in the result
  int64_t flushed = 0;    // nonzero in the shadow, zero in the result
  int64_t saturated = 0;  // beyond the dtype's largest number in the shadow, that number in the result
  int64_t nans = 0;       // NaN in the shadow too, though no input of the call was
  // Sums of squares over elements that are finite in the shadow: of the shadow, and of what the result differs from it (what
  // is not finite in the result differs by the whole).
  double squared = 0, squared_difference = 0;
  bool any() const { return overflows || flushed || saturated || nans; }
};
// While it lives, every floating result of this thread is compared with a shadow: the same call on wider inputs (f8, f16 and
// bf16 in f32, f32 in f64), in one pass over both. Calls that write in place are counted where they copy.
class RoundingCounting {
  uint32_t before_;

 public:
  RoundingCounting();
  ~RoundingCounting();
  RoundingCounting(const RoundingCounting&) = delete;
  static std::vector<RoundingCount> counts();
  // Rows with an event, the most events first; `all`: the others too.
  static std::string table(bool all = false);
  static void clear();
};

}  // namespace dyadic::inline v1
