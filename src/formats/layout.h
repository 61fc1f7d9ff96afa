// Where a scaled format's planes lie in its buffer, and the scales of the integer groups. Compiled once: everything here may
// use std and throw, which the files compiled per instruction set must not.
#pragma once
#include "formats/format.h"

namespace dyadic::inline v1 {

// FormatDef::planes of the block formats.
PlaneList flat_planes(const Format&, Geometry);      // codes, absmax; doubled: codes, absmax, nested_absmax, nested_offset
PlaneList group_planes(const Format&, Geometry);     // codes, scales; with zero points: zeros; e4m3 scales: tensor_scale
PlaneList offset_planes(const Format&, Geometry);    // codes, scales, offsets of the scales' type
PlaneList ordered_planes(const Format&, Geometry);   // those of group_planes, and g_idx: the group of each column
PlaneList codebook_planes(const Format&, Geometry);  // codes, scales, codebooks; ValueError as for ggml's
PlaneList ggml_planes(const Format&, Geometry);      // blocks; ValueError unless cols is a multiple of Format::row_step()

// The same as plain numbers (byte offsets in the buffer) for the kernels.
struct FlatLayout {
  int64_t numel, block, blocks;           // elements, elements per block, blocks (the last may be shorter)
  int64_t codes, absmax, nested, offset;  // nested and offset only when doubled
};
FlatLayout flat_layout(const Format&, Geometry);

enum class ScaleType : int32_t { f32, f16, bf16, e8m0, e4m3 };
struct GroupLayout {
  int64_t rows, cols, group;     // group: elements per scale along a row; cols for row and tensor
  int64_t groups;                // per row
  int64_t pitch;                 // bytes of a row of codes
  int64_t scales_per_row;        // groups, 1, or 0 when one scale serves all
  int64_t band;                  // rows that share their scales: of a tile, else 1
  int64_t codes, scales, zeros;  // zeros: -1 without zero points
  int64_t tensor_scale;          // -1 without: an f32 that the other scales are multiples of
  ScaleType scale;
};
GroupLayout group_layout(const Format&, Geometry);
struct MoreLayout : GroupLayout {
  int64_t more;  // what stands behind the planes of a group_layout: the offsets, g_idx or the codebooks
};
MoreLayout more_layout(const Format&, Geometry);

inline constexpr int64_t kNestedBlock = 256;  // scales that share a second scale: bitsandbytes' double quantization
inline constexpr int64_t kGgmlBlock = 32;     // elements of ggml's simple blocks

}  // namespace dyadic::inline v1
