#include "plan/cost.h"

#include <algorithm>

#include "corridor/counters.h"

namespace dyadic::inline v1::planning {

constexpr double kCall = 1e-6;
constexpr double kCached = 8 << 20;  // bytes of a call that lie in a cache from the calls before it, mostly
constexpr double kProduct = 8;       // FLOPs for each byte: no function and no row has more
constexpr double kDrawn = 25;        // FLOPs that a random number takes

double seconds_of(const Call& c, const account::Peaks& p) {
  if (c.op.kind == OpKind::view) return 0;
  Work w = work_of(c);
  if (c.plan.draws) w.flops += kDrawn * double(c.out[0].numel());
  const bool half = w.dtype && w.dtype.is_floating_point() && w.dtype.itemsize() == 2;
  const double rate = w.flops < kProduct * w.bytes ? p.function_f32 : half ? p.flops_bf16 : p.product_f32;
  return std::max(w.flops / rate, w.bytes / (w.bytes <= kCached ? p.cached_bytes_per_s : p.bytes_per_s)) + kCall;
}

void Stopwatch::called(const Call& c) { seconds_ += seconds_of(c, account::peaks()); }

}  // namespace dyadic::inline v1::planning
