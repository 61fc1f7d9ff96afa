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
  static void clear();
};

struct RoundingCount {
  std::string op, module;
  DType dtype;
  int64_t elements = 0;
  int64_t overflows = 0;  // finite in the wider shadow, infinite or NaN in the result
  int64_t flushed = 0;    // nonzero in the shadow, zero in the result
};
// While it lives, every floating result is compared with a shadow: the same call on wider inputs (f16 and bf16 in f32, f32 in
// f64).
class RoundingCounting {
  uint32_t before_;

 public:
  RoundingCounting();
  ~RoundingCounting();
  RoundingCounting(const RoundingCounting&) = delete;
  static std::vector<RoundingCount> counts();
  static void clear();
};

}  // namespace dyadic::inline v1
