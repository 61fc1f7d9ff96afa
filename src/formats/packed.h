// Tensors whose elements have no address of their own: packed scalars (fewer than 8 bits) and scaled formats. Their storage is
// read and written by ranges of storage order (Note [Storage order]).
//
// A packed tensor is one bitstream (bitstream.h) in storage order.
#pragma once
#include "formats/format.h"

namespace dyadic::inline v1 {

PlaneList planes_of(const Format&, Geometry);

// Elements [begin, end) of storage order in the compute type of the format.
void decode_elements(const Format&, const void* storage, Geometry, int64_t begin, int64_t end, void* out);
// All elements, from a packed format's values in any scalar dtype that is not blocked; with threads inside.
void encode_packed(const Format& from, const void* in, const Format& to, void* storage, int64_t numel, const Round&);

}  // namespace dyadic::inline v1
