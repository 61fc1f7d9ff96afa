// Elements of blocked formats (packed and scaled ones) on the device: where a tensor's planes lie, and the value of one
// element, by the arithmetic of src/formats/block. What a format's file says of its layout is said there alone.
#pragma once
#include "plugins/cuda/copies/space.h"
#include "plugins/cuda/elements.h"  // first: it says whose namespace the formats' text lies in

#include "formats/block/codebook4.h"

namespace dyadic::gpu {

enum class Layout : uint8_t {
  none,  // no device code
  packed_integer,
  packed_f6e2m3fn,
  packed_f6e3m2fn,
  packed_f4e2m1fn,
  packed_f4e3m0,
  nf4,
  fp4,
  linear8,
  dynamic8,
  udynamic8,
  int_group,
  offset_group,
  ordered_group,
  group_f8e4m3fn,
  group_f8e5m2,
  group_f6e2m3fn,
  group_f6e3m2fn,
  group_f4e2m1fn,
  group_mxint8,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q8_K,
  q2_K,
  q3_K,
  q4_K,
  q5_K,
  q6_K,
  iq4_nl,
  iq4_xs,
  mxfp4,
  q1_0,
  q2_0,
  tq1_0,
  tq2_0,
  iq1_s,
  iq1_m,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq3_xxs,
  iq3_s,
};

struct Blocked {
  Layout layout = Layout::none;
  int bits = 0;
  bool is_signed = false;
  int64_t rows = 0;
  Divisor cols;
  Divisor block;  // elements that share a scale: of storage order (flat formats), of a row (groups), of a ggml block
  int64_t groups = 0, pitch = 0;         // of a row; bytes of a row of codes
  int64_t scales_per_row = 0, band = 1;  // Note: 0 where one scale serves all; rows that share their scales
  Code scale = Code::f32;
  bool is_tensor = false;
  int64_t codes = 0, scales = 0, zeros = -1, more = -1, whole = -1;  // offsets; more: nested scales, offsets or g_idx;
                                                                     // whole: the f32 that scales are multiples of
};
// Of a storage; layout is none for formats that have no device code.
Blocked blocked_of(const Format& f, Geometry g);

}  // namespace dyadic::gpu
