#include "plan/cost.h"

#include <algorithm>

#include "corridor/counters.h"

namespace dyadic::inline v1::planning {

constexpr double kCall = 1e-6;

double seconds_of(const Call& c, const account::Peaks& p) {
  if (c.op.kind == OpKind::view) return 0;
  const Work w = work_of(c);
  const double rate = w.dtype && w.dtype.is_floating_point() && w.dtype.itemsize() == 2 ? p.flops_bf16 : p.flops_f32;
  return std::max(w.flops / rate, w.bytes / p.bytes_per_s) + kCall;
}

void Stopwatch::called(const Call& c) { seconds_ += seconds_of(c, account::peaks()); }

}  // namespace dyadic::inline v1::planning
