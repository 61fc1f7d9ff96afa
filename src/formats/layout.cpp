// Where a scaled format's planes lie in its buffer (layout.h).
#include "formats/layout.h"

#include <algorithm>

#include "base/check.h"

namespace dyadic::inline v1 {
namespace {

constexpr int64_t kPlaneAlignment = 16;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t after(int64_t offset, int64_t bytes) { return offset + divide_up(bytes, kPlaneAlignment) * kPlaneAlignment; }

void add(PlaneList& list, const char* name, const Format& dtype, int64_t offset, int64_t bytes) {
  DY_ASSERT(list.count < int(list.plane.size()));
  list.plane[size_t(list.count++)] = {name, &dtype, offset, bytes};
  list.bytes += bytes;
  list.buffer_bytes = after(offset, bytes);
}

ScaleType scale_type(const Format* scale) {
  if (scale == &detail::f16) return ScaleType::f16;
  if (scale == &detail::bf16) return ScaleType::bf16;
  if (scale == &detail::f8e8m0fnu) return ScaleType::e8m0;
  if (scale == &detail::f8e4m3fn) return ScaleType::e4m3;
  return ScaleType::f32;
}

int64_t code_bytes(const Format& f, const FlatLayout& l) { return divide_up(l.numel * f.def->bits, 8); }
int64_t nested_bytes(const FlatLayout& l) { return divide_up(l.blocks, kNestedBlock) * 4; }

const Format& scale_format(const Params& p) { return p.scale ? *p.scale : detail::f32; }
int64_t scale_count(const Params& p, const GroupLayout& l) {
  if (p.granularity == Granularity::tensor) return 1;
  return (p.rows == 1 ? l.rows : divide_up(l.rows, p.rows)) * l.groups;
}

}  // namespace

// Ranges of a few elements ask for their layout again and again, so that it is plain arithmetic and the lists are made from it.
FlatLayout flat_layout(const Format& f, Geometry g) {
  FlatLayout l{.numel = g.numel(),
               .block = f.params.block,
               .blocks = divide_up(g.numel(), f.params.block),
               .codes = 0,
               .absmax = 0,
               .nested = -1,
               .offset = -1};
  l.absmax = after(l.codes, code_bytes(f, l));
  if (!f.params.doubled) return l;
  l.nested = after(l.absmax, l.blocks);
  l.offset = after(l.nested, nested_bytes(l));
  return l;
}
PlaneList flat_planes(const Format& f, Geometry g) {
  const FlatLayout l = flat_layout(f, g);
  PlaneList list;
  add(list, "codes", detail::u8, l.codes, code_bytes(f, l));
  if (!f.params.doubled) {
    add(list, "absmax", detail::f32, l.absmax, l.blocks * 4);
  } else {
    add(list, "absmax", detail::u8, l.absmax, l.blocks);
    add(list, "nested_absmax", detail::f32, l.nested, nested_bytes(l));
    add(list, "nested_offset", detail::f32, l.offset, 4);
  }
  return list;
}

GroupLayout group_layout(const Format& f, Geometry g) {
  const Params& p = f.params;
  const bool cut = p.granularity == Granularity::group || p.granularity == Granularity::tile;
  GroupLayout l{};
  l.rows = g.rows;
  l.cols = g.cols;
  l.band = p.rows;
  l.group = cut ? p.block : std::max<int64_t>(g.cols, 1);
  l.groups = cut ? divide_up(g.cols, l.group) : g.cols > 0;
  l.pitch = divide_up(f.code_bits(g.cols), 8);
  l.scales_per_row = p.granularity == Granularity::tensor ? 0 : l.groups;
  l.scale = scale_type(p.scale);
  const int64_t count = scale_count(p, l);
  l.codes = 0;
  l.scales = after(l.codes, l.rows * l.pitch);
  const int64_t behind = after(l.scales, count * scale_format(p).itemsize());
  l.zeros = p.zero ? behind : -1;
  l.tensor_scale = l.scale != ScaleType::e4m3 ? -1 : p.zero ? after(behind, count) : behind;
  return l;
}
PlaneList group_planes(const Format& f, Geometry g) {
  const Params& p = f.params;
  const GroupLayout l = group_layout(f, g);
  const int64_t count = scale_count(p, l);
  PlaneList list;
  add(list, "codes", f.def->bits == 8 ? detail::i8 : detail::u8, l.codes, l.rows * l.pitch);
  add(list, "scales", scale_format(p), l.scales, count * scale_format(p).itemsize());
  if (p.zero) add(list, "zeros", detail::i8, l.zeros, count);
  if (l.tensor_scale >= 0) add(list, "tensor_scale", detail::f32, l.tensor_scale, 4);
  return list;
}

MoreLayout more_layout(const Format& f, Geometry g) {
  const PlaneList list = group_planes(f, g);
  return {group_layout(f, g), list.buffer_bytes};
}
PlaneList offset_planes(const Format& f, Geometry g) {
  PlaneList list = group_planes(f, g);
  list.plane[0].dtype = &detail::u8;
  const Plane scales = list.plane[1];
  add(list, "offsets", *scales.dtype, list.buffer_bytes, scales.bytes);
  return list;
}
PlaneList ordered_planes(const Format& f, Geometry g) {
  PlaneList list = group_planes(f, g);
  add(list, "g_idx", detail::i32, list.buffer_bytes, 4 * g.cols);
  return list;
}

PlaneList codebook_planes(const Format& f, Geometry g) {
  const int64_t vector = f.row_step();
  DY_CHECK_AS(ValueError, g.cols % vector == 0,
              "{}: rows are whole vectors of {}: the last dimension is {}; pad it to {} or pick i2(group=32)", f.def->name,
              vector, g.cols, divide_up(g.cols, vector) * vector);
  PlaneList list = group_planes(f, g);
  list.plane[0].dtype = &detail::u8;
  add(list, "codebooks", detail::f16, list.buffer_bytes, f.params.codebooks * (vector << f.params.word_bits) * 2);
  return list;
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
  add(list, "blocks", detail::u8, 0, g.numel() / block * f.def->block_bytes);
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
