#include "ops/precision.h"

#include <atomic>

#include "base/check.h"
#include "base/parallel.h"
#include "formats/bits.h"

namespace dyadic::inline v1 {
namespace ops {
namespace {

std::atomic<FewerBits> g_matmul{FewerBits::none};

template <int kDropped> void round_range(float* x, int64_t begin, int64_t end) {
  constexpr uint32_t kHalf = (1u << (kDropped - 1)) - 1, kKept = ~((1u << kDropped) - 1);
  for (int64_t i = begin; i < end; ++i) {
    const uint32_t u = float_bits(x[i]), rounded = (u + kHalf + ((u >> kDropped) & 1u)) & kKept;
    x[i] = bits_float((u & kAbsMask) >= kInfBits ? u : rounded);
  }
}

}  // namespace

FewerBits matmul_rounding() { return g_matmul.load(std::memory_order_relaxed); }

void round_floats(float* x, int64_t n, FewerBits to) {
  if (to == FewerBits::none) return;
  parallel_for(n, 1 << 15, [&](int64_t begin, int64_t end) {
    to == FewerBits::tf32 ? round_range<13>(x, begin, end) : round_range<16>(x, begin, end);
  });
}

}  // namespace ops

void set_float32_matmul_precision(std::string_view precision) {
  using ops::FewerBits;
  if (precision == "highest")
    ops::g_matmul = FewerBits::none;
  else if (precision == "high")
    ops::g_matmul = FewerBits::tf32;
  else if (precision == "medium")
    ops::g_matmul = FewerBits::bf16;
  else
    fail<ValueError>("set_float32_matmul_precision: unknown precision \"{}\"; the known ones are highest, high, medium",
                     precision);
}
std::string_view get_float32_matmul_precision() {
  switch (ops::matmul_rounding()) {
    case ops::FewerBits::tf32:
      return "high";
    case ops::FewerBits::bf16:
      return "medium";
    default:
      return "highest";
  }
}

}  // namespace dyadic::inline v1
