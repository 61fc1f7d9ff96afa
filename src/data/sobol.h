// Direction numbers of Sobol's sequence.
#pragma once
#include <cstdint>
#include <vector>

namespace dyadic::inline v1::sobol {

extern const uint64_t kNumbers[];  // packed: tools/make_sobol.py

// v_1 ... v_bits of each dimension, as fractions of 2^bits: [dimensions][bits].
std::vector<uint32_t> directions(int64_t dimensions, int bits);

}  // namespace dyadic::inline v1::sobol
