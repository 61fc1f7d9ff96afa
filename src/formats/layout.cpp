// Where a scaled format's planes lie in its buffer (layout.h).
#include "formats/layout.h"

#include <algorithm>

#include "base/check.h"

namespace dyadic::inline v1 {
namespace {

constexpr int64_t kPlaneAlignment = 16;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

void add(PlaneList& list, const char* name, const Format& dtype, int64_t bytes) {
  DY_ASSERT(list.count < int(list.plane.size()));
  list.plane[size_t(list.count++)] = {name, &dtype, list.buffer_bytes, bytes};
  list.bytes += bytes;
  list.buffer_bytes += divide_up(bytes, kPlaneAlignment) * kPlaneAlignment;
}

ScaleType scale_type(const Format* scale) {
  if (scale == &detail::f16) return ScaleType::f16;
  if (scale == &detail::bf16) return ScaleType::bf16;
  if (scale == &detail::f8e8m0fnu) return ScaleType::e8m0;
  if (scale == &detail::f8e4m3fn) return ScaleType::e4m3;
  return ScaleType::f32;
}

}  // namespace

PlaneList flat_planes(const Format& f, Geometry g) {
  const int64_t blocks = divide_up(g.numel(), f.params.block);
  PlaneList list;
  add(list, "codes", detail::u8, divide_up(g.numel() * f.def->bits, 8));
  if (!f.params.doubled) {
    add(list, "absmax", detail::f32, blocks * 4);
  } else {
    add(list, "absmax", detail::u8, blocks);
    add(list, "nested_absmax", detail::f32, divide_up(blocks, kNestedBlock) * 4);
    add(list, "nested_offset", detail::f32, 4);
  }
  return list;
}

FlatLayout flat_layout(const Format& f, Geometry g) {
  const PlaneList list = flat_planes(f, g);
  const bool doubled = f.params.doubled;
  return {.numel = g.numel(),
          .block = f.params.block,
          .blocks = divide_up(g.numel(), f.params.block),
          .codes = list.plane[0].offset,
          .absmax = list.plane[1].offset,
          .nested = doubled ? list.plane[2].offset : -1,
          .offset = doubled ? list.plane[3].offset : -1};
}

namespace {
// Columns that one scale covers.
int64_t group_width(const Params& p, Geometry g) {
  const bool cut = p.granularity == Granularity::group || p.granularity == Granularity::tile;
  return cut ? p.block : std::max<int64_t>(g.cols, 1);
}
}  // namespace

PlaneList group_planes(const Format& f, Geometry g) {
  const Params& p = f.params;
  const int64_t group = group_width(p, g);
  const int64_t bands = divide_up(g.rows, p.rows);
  const int64_t scales = p.granularity == Granularity::tensor ? 1 : bands * divide_up(g.cols, group);
  const Format& scale = p.scale ? *p.scale : detail::f32;
  PlaneList list;
  add(list, "codes", f.def->bits == 8 ? detail::i8 : detail::u8, g.rows * divide_up(g.cols * f.def->bits, 8));
  add(list, "scales", scale, scales * scale.itemsize());
  if (p.zero) add(list, "zeros", detail::i8, scales);
  if (scale_type(&scale) == ScaleType::e4m3) add(list, "tensor_scale", detail::f32, 4);
  return list;
}

GroupLayout group_layout(const Format& f, Geometry g) {
  const Params& p = f.params;
  const PlaneList list = group_planes(f, g);
  GroupLayout l{};
  l.rows = g.rows;
  l.cols = g.cols;
  l.band = p.rows;
  l.group = group_width(p, g);
  l.groups = divide_up(g.cols, l.group);
  l.pitch = divide_up(g.cols * f.def->bits, 8);
  l.scales_per_row = p.granularity == Granularity::tensor ? 0 : l.groups;
  l.scale = scale_type(p.scale);
  l.codes = list.plane[0].offset;
  l.scales = list.plane[1].offset;
  l.zeros = p.zero ? list.plane[2].offset : -1;
  l.tensor_scale = l.scale == ScaleType::e4m3 ? list.plane[size_t(list.count - 1)].offset : -1;
  return l;
}

PlaneList ggml_planes(const Format& f, Geometry g) {
  const int64_t block = f.row_step();
  if (g.cols % block) {
    const int64_t up = divide_up(g.cols, block) * block;
    const bool small = block != kGgmlBlock && g.cols % kGgmlBlock == 0;  // fits ggml's blocks of 32
    fail<ValueError>("{}: rows are whole blocks of {}: the last dimension is {}; pad it to {} or pick {}", f.def->name, block,
                     g.cols, up,
                     small             ? (f.def->bits > 4 ? "q8_0" : "q4_0")
                     : f.def->bits > 4 ? "i8(group=32)"
                                       : "i4(group=32)");
  }
  PlaneList list;
  add(list, "blocks", detail::u8, g.numel() / block * f.def->block_bytes);
  return list;
}

void check_encodes(const Format& f) {
  DY_CHECK_AS(ValueError, f.can_encode(), "{} cannot be encoded here: its codes come from files; use {}", f.def->name,
              f.def->instead);
}
void encode_scaled(const Format& f, const float* in, void* storage, Geometry g, const Round& round) {
  check_encodes(f);
  f.def->encode_all(f, in, storage, g, round);
}

}  // namespace dyadic::inline v1
