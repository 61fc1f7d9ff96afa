#include "account/peak_kernel.h"

#include "base/simd/simd.h"

namespace dyadic::DY_ISA {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

double multiply_add(int64_t rounds, float* sink) {
  constexpr hn::ScalableTag<float> d;
  constexpr int kChains = 12;  // more than latency times units of any processor; with the factors they fit 16 registers
  const auto x = hn::Set(d, sink[0]), y = hn::Set(d, sink[1]);
  hn::Vec<decltype(d)> sum[kChains];
  for (auto& v : sum) v = x;
  for (int64_t i = 0; i < rounds; i++) {
    for (auto& v : sum) v = hn::MulAdd(v, x, y);
  }
  auto total = sum[0];
  for (int k = 1; k < kChains; k++) total = hn::Add(total, sum[k]);
  sink[2] = hn::GetLane(total);
  return 2.0 * double(rounds) * kChains * double(hn::MaxLanes(d));
}

}  // namespace

extern const PeakKernel peak_kernel = {multiply_add};

}  // namespace dyadic::DY_ISA
