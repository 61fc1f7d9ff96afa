// Stochastic rounding of the narrow floats. The element at index i of storage order draws word i of the stream (Note [Random
// streams] in base/random.h), whatever the cut.
#pragma once
#include "base/random.h"
#include "formats/format.h"

namespace dyadic::DY_ISA {

// one(x, random bits) is the code.
template <class Code, class One>
void encode_stochastic(const float* computed, Code* stored, int64_t n, const Round& round, One one) {
  uint32_t random[512];
  for (int64_t i = 0; i < n; i += 512) {
    const int64_t m = n - i < 512 ? n - i : 512;
    random_kernel.bits(round.seed, round.stream, round.index + uint64_t(i), m, random);
    const float* __restrict__ c = computed + i;
    Code* __restrict__ s = stored + i;
    for (int64_t j = 0; j < m; ++j) s[j] = one(c[j], random[j]);
  }
}

}  // namespace dyadic::DY_ISA
