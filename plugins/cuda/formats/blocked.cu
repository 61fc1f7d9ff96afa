// Which layout a blocked format has, and where its planes lie: by its name, its parameters and the planes that it says of
// itself.
#include "plugins/cuda/formats/blocked.h"

#include <string_view>

namespace dyadic::gpu {
namespace {

struct Named {
  std::string_view name;
  Layout layout;
};
constexpr Named kPacked[] = {{"f6e2m3fn", Layout::packed_f6e2m3fn},
                             {"f6e3m2fn", Layout::packed_f6e3m2fn},
                             {"f4e2m1fn", Layout::packed_f4e2m1fn},
                             {"f4e3m0", Layout::packed_f4e3m0}};
constexpr Named kScaled[] = {
    {"nf4", Layout::nf4},
    {"fp4", Layout::fp4},
    {"linear8", Layout::linear8},
    {"dynamic8", Layout::dynamic8},
    {"udynamic8", Layout::udynamic8},
    {"i8", Layout::int_group},
    {"i4", Layout::int_group},
    {"i3", Layout::int_group},
    {"i2", Layout::int_group},
    {"i8_ordered", Layout::ordered_group},
    {"i4_ordered", Layout::ordered_group},
    {"i3_ordered", Layout::ordered_group},
    {"i2_ordered", Layout::ordered_group},
    {"u8", Layout::offset_group},
    {"u6", Layout::offset_group},
    {"u4", Layout::offset_group},
    {"u3", Layout::offset_group},
    {"u2", Layout::offset_group},
    {"f8e4m3fn", Layout::group_f8e4m3fn},
    {"f8e5m2", Layout::group_f8e5m2},
    {"mxfp8_e4m3", Layout::group_f8e4m3fn},
    {"mxfp8_e5m2", Layout::group_f8e5m2},
    {"mxfp6_e2m3", Layout::group_f6e2m3fn},
    {"mxfp6_e3m2", Layout::group_f6e3m2fn},
    {"nvfp4", Layout::group_f4e2m1fn},
    {"mxint8", Layout::group_mxint8},
    {"q4_0", Layout::q4_0},
    {"q4_1", Layout::q4_1},
    {"q5_0", Layout::q5_0},
    {"q5_1", Layout::q5_1},
    {"q8_0", Layout::q8_0},
    {"q8_K", Layout::q8_K},
    {"q2_K", Layout::q2_K},
    {"q3_K", Layout::q3_K},
    {"q4_K", Layout::q4_K},
    {"q5_K", Layout::q5_K},
    {"q6_K", Layout::q6_K},
    {"iq4_nl", Layout::iq4_nl},
    {"iq4_xs", Layout::iq4_xs},
    {"mxfp4", Layout::mxfp4},
    {"q1_0", Layout::q1_0},
    {"q2_0", Layout::q2_0},
    {"tq1_0", Layout::tq1_0},
    {"tq2_0", Layout::tq2_0},
    {"iq1_s", Layout::iq1_s},
    {"iq1_m", Layout::iq1_m},
    {"iq2_xxs", Layout::iq2_xxs},
    {"iq2_xs", Layout::iq2_xs},
    {"iq2_s", Layout::iq2_s},
    {"iq3_xxs", Layout::iq3_xxs},
    {"iq3_s", Layout::iq3_s},
};
template <size_t N> Layout find(const Named (&list)[N], std::string_view name) {
  for (const Named& n : list)
    if (n.name == name) return n.layout;
  return Layout::none;
}

}  // namespace

Blocked blocked_of(const Format& f, Geometry g) {
  const FormatDef& d = *f.def;
  const Params& p = f.params;
  Blocked b;
  b.bits = d.bits;
  b.rows = g.rows;
  b.cols = Divisor(g.cols);
  if (!f.is_scaled()) {
    b.layout = d.kind == Kind::floating ? find(kPacked, d.name) : Layout::packed_integer;
    b.is_signed = d.kind == Kind::sint;
    return b;
  }
  b.layout = find(kScaled, d.name);
  if (b.layout == Layout::none || !d.planes) return b;
  const PlaneList list = d.planes(f, g);
  const auto plane = [&](std::string_view name) {
    for (int k = 0; k < list.count; ++k)
      if (list.plane[size_t(k)].name == name) return list.plane[size_t(k)].offset;
    return int64_t{-1};
  };
  b.codes = list.plane[0].offset;
  b.block = Divisor(p.block);
  if (d.block_bytes || list.count < 2) return b;
  b.scales = list.plane[1].offset;
  b.scale = code_of(list.plane[1].dtype);
  if (p.granularity == Granularity::flat) {
    b.more = plane("nested_absmax"), b.whole = plane("nested_offset");
    return b;
  }
  const bool cut = p.granularity == Granularity::group || p.granularity == Granularity::tile;
  const int64_t group = cut ? p.block : g.cols > 0 ? g.cols : 1;
  b.block = Divisor(group);
  b.groups = cut ? (g.cols + group - 1) / group : g.cols > 0;
  b.pitch = (g.cols * d.bits + 7) / 8;
  b.is_tensor = p.granularity == Granularity::tensor;
  b.scales_per_row = b.is_tensor ? 0 : b.groups;
  b.band = p.rows;
  b.zeros = plane("zeros");
  b.whole = plane("tensor_scale");
  b.more = b.layout == Layout::offset_group ? plane("offsets") : b.layout == Layout::ordered_group ? plane("g_idx") : -1;
  return b;
}

}  // namespace dyadic::gpu
