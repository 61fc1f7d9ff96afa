// The elements of one tile: from what is stored to the compute type and back, and which tile of an op takes them as they lie.
#pragma once
#include "loops/pointwise.h"

namespace dyadic::inline v1::tiles {

inline bool stored_as(const Format& f, Compute c) { return &f == &compute_format(c); }

// n stored elements in the compute type: where they lie, or in `tile`. `other` is room for as many.
const void* load(const Format& f, const char* stored, Compute compute, char* tile, char* other, int64_t n);
void store(const Format& f, const void* tile, Compute compute, bool mask, char* stored, char* other, int64_t n);
// n copies of one stored element, in the compute type.
void splat(const Format& f, const char* stored, Compute compute, char* tile, int64_t n);

Tile stored_tile(const Elementwise& e,
                 const Format* f);  // the one that reads and writes f as it is stored; null: there is none
// The result's format (a mask's: its inputs'), if there is a tile for it that takes the inputs: bf16 beside anything, narrow
// integers beside numbers. formats: of the inputs, null where none is read, and of the result; singles: bit i: one element.
const Format* stored_format(const Elementwise& e, bool direct, const Format* const* formats, unsigned singles, int inputs);

}  // namespace dyadic::inline v1::tiles
