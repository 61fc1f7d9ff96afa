// What the packings of small floats share.
#pragma once
#include "io/quantized/packing.h"

namespace dyadic::inline v1::io {

struct Block {
  int64_t rows = 0, cols = 0;  // 0: the configuration says nothing of it
};
// Two sizes under that key; none where the configuration says nothing of it.
Block sizes_of(const json& config, const char* key, const std::string& path);
// The 8-bit floats whose scales stand beside them, as "<name>_scale_inv" or "<name>_scale".
std::vector<PackedWeight> float8_weights(const Names& names, const Block& block);
PackedWeight float8_weight(Pieces p, std::string_view codes, std::string_view scales, const std::string& weight,
                           const Block& block);

// mxfp4 [..., columns] of pairs of codes, the bytes of [..., columns / 2], the even element of two in the low half, and of
// powers of two,
// [..., columns / 32].
Tensor mxfp4_of(const Tensor& pairs, const Tensor& powers, IntList shape);

}  // namespace dyadic::inline v1::io
