#include "ops/create/ramp_kernel.h"

#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

// Places are counted in doubles: exact below 2^53.
void real(double start, double step, int64_t first, int64_t n, double* out) {
  using V = Vec<double>;
  V place = V(static_cast<double>(first)) + V::iota();
  for_vectors<double>(n, [&](auto access, int64_t i) {
    access.store(out + i, V(start) + place * V(step));
    place += V(static_cast<double>(V::size()));
  });
}

void whole(int64_t start, int64_t step, int64_t first, int64_t n, int64_t* out) {
  auto value = static_cast<uint64_t>(start) + static_cast<uint64_t>(first) * static_cast<uint64_t>(step);
  for (int64_t i = 0; i < n; i++) out[i] = static_cast<int64_t>(value + static_cast<uint64_t>(i) * static_cast<uint64_t>(step));
}

}  // namespace

extern const RampKernel ramp_kernel = {real, whole};

}  // namespace dyadic::DY_ISA
