// What the loop over tiles and the ops' tiles have agreed on.
#pragma once
#include <cstdint>

namespace dyadic::inline v1 {

// n elements of dense arrays in the compute type (masks as bytes); params are an op's numeric arguments in the signature's
// order, of complex ones followed by their imaginary parts from kMaxParams on; mode is made of the bits below. Inputs that are
// not read may be null.
using Tile = void (*)(const void* const* in, void* out, const double* params, int64_t n, unsigned mode);

inline constexpr int kMaxParams = 4, kMaxOperands = 6;

inline constexpr unsigned kStream = 1;  // the result goes past the caches, to a line's beginning

// Where the bit kWide << k is set, input k lies otherwise. Some tiles read and write elements as they are stored: then it is
// in the compute type. Those of f32 and f64 with Pointwise::takes_one: then it is a single element.
inline constexpr unsigned kWide = 2;

// Those of bf16 compute in f32 and work on whole vectors: there is room for n rounded up to a multiple of kBf16Step.
inline constexpr int64_t kBf16Step = 32;

// Those of narrow integers compute in i32; a wide input is a single number.
enum Narrow { kU8, kI8, kI16, kNarrow };

}  // namespace dyadic::inline v1
