// How a convolution is cut: into residues of the stride, blocks of positions, channels at a time. Everything follows from the
// shape. Only for files compiled per instruction set.
#pragma once
#include "loops/conv.h"
#include "loops/conv_micro.h"
#include "loops/gemm_pack.h"
#include "loops/lanes.h"

namespace dyadic::DY_ISA {

// Position j meets tap t at element j * step + first + t * slope of the side that is read (of `size`), and stands at element
// out_first + j * out_step of the side that is written. Tap t is number tap + t * tap_step of the kernel.
struct ConvAxis {
  int64_t count, step, size;
  int64_t taps, first, slope, tap, tap_step;
  int64_t out_first, out_step;
  int64_t span() const { return taps > 0 ? (taps - 1) * (slope < 0 ? -slope : slope) : 0; }
  int64_t lowest() const { return taps > 0 && slope < 0 ? first + (taps - 1) * slope : first; }
  int64_t extent(int64_t positions) const { return (positions - 1) * step + span() + 1; }  // read for so many positions
};

static inline ConvAxis forward_axis(const ConvShape& s, int d) {
  return {s.out[d], s.stride[d], s.in[d], s.kernel[d], -s.low[d], s.dilation[d], 0, 1, 0, 1};
}
static inline int64_t gcd_of(int64_t a, int64_t b) { return b ? gcd_of(b, a % b) : a; }
// Input positions residue, residue + stride ...: those taps k with residue + low - k * dilation a multiple of the stride.
static inline ConvAxis input_axis(const ConvShape& s, int d, int64_t residue) {
  const int64_t stride = s.stride[d], dilation = s.dilation[d], common = gcd_of(stride, dilation), every = stride / common;
  const int64_t count = residue < s.in[d] ? (s.in[d] - residue + stride - 1) / stride : 0;
  int64_t k = 0;
  auto at = [&](int64_t tap) { return residue + s.low[d] - tap * dilation; };
  while (k < s.kernel[d] && k < every && at(k) % stride != 0) k++;
  const bool none = k >= s.kernel[d] || k >= every;
  const int64_t taps = none ? 0 : (s.kernel[d] - 1 - k) / every + 1;
  return {count, 1, s.out[d], taps, none ? 0 : at(k) / stride, -(dilation / common), k, every, residue, stride};
}

struct ConvPlan {
  ConvAxis axis[3];
  int64_t taps, channels, filters, panels;  // of one group: read, written, panels of kMicroCols
  int64_t block[3], blocks[3];              // positions of a block, blocks
  int64_t extent[3], plane;                 // elements of a block's copy: per axis, from channel to channel
  int64_t together;                         // channels at a time
  int64_t images, batches;                  // images of a block, of which there is one batch or more
  bool stencil;                             // positions are lanes, see conv_stencil.h
  int64_t positions() const { return block[0] * block[1] * block[2]; }
  int64_t rows() const { return images * positions(); }
  int64_t image() const { return together * plane; }  // elements of a block's copy from image to image
  int64_t steps() const { return channels * taps; }
  int64_t cells() const { return blocks[0] * blocks[1] * blocks[2]; }
};

inline constexpr int64_t kConvSteps = 256;  // rows of a panel that stay in the first cache: 32 KB

inline constexpr int64_t kConvItems = 8;  // small images are taken together while so many items are left

static inline void plan_blocks(const ConvShape& s, ConvPlan& p, int64_t wanted) {
  int64_t left = wanted;
  for (int d = 2; d >= 0; d--) {
    const int64_t count = p.axis[d].count, most = max_of(1, min_of(count, left)), n = max_of(1, (count + most - 1) / most);
    p.block[d] = (count + n - 1) / n;
    p.blocks[d] = count > 0 ? n : 0;
    p.extent[d] = p.axis[d].extent(p.block[d]);
    left = max_of(1, left / max_of(p.block[d], 1));
  }
  // Not a multiple of the cache's way size from channel to channel.
  p.plane = (p.extent[0] * p.extent[1] * p.extent[2] + 15) / 16 * 16;
  if (p.plane % 32 == 0) p.plane += 16;
  const int64_t most = max_of(1, min_of(p.channels, kConvSteps / max_of(p.taps, 1)));
  const int64_t turns = max_of(1, (p.channels + most - 1) / most);
  p.together = max_of(1, (p.channels + turns - 1) / turns);
  const int64_t room = p.cells() == 1 ? wanted / max_of(p.positions(), 1) : 1;
  p.images = max_of(1, min_of(room, s.batch * s.groups / kConvItems));
  p.batches = (s.batch + p.images - 1) / p.images;
}

// Stretches of positions whose sums a stencil computes as if they were neighbours in memory: a row of the block each, or,
// without strides, all rows of a plane at once and with them the positions between, which are dropped.
struct StencilRuns {
  bool whole;             // planes
  int64_t count, length;  // of a block
  int64_t pitch;          // from one to the next in the sums: whole vectors
};
template <class T> static StencilRuns stencil_runs(const ConvPlan& p, const int64_t* size) {
  auto padded = [](int64_t n) { return (n + kLanes<T> - 1) / kLanes<T> * kLanes<T>; };
  const int64_t plane = (size[1] - 1) * p.extent[2] + size[2];
  const StencilRuns rows{false, size[0] * size[1], size[2], padded(size[2])}, planes{true, size[0], plane, padded(plane)};
  const bool strided = p.axis[1].step > 1 || p.axis[2].step > 1;
  return strided || rows.count * rows.pitch <= planes.count * planes.pitch ? rows : planes;
}

inline constexpr int64_t kStencilBlock = 4096;  // positions
inline constexpr int64_t kStencilCopy = 32768;  // elements of the copy of a block's channels

// A stencil if lanes of positions are better used than lanes of filters.
template <class T> static void finish_plan(const ConvShape& s, ConvPlan& p) {
  p.panels = (p.filters + kMicroCols<T> - 1) / kMicroCols<T>;
  if (p.filters <= kLanes<T>) {
    plan_blocks(s, p, kStencilBlock);
    const int64_t step = max_of(1, p.axis[2].step);
    p.extent[2] = (p.extent[2] + step - 1) / step * step;
    p.plane = (p.extent[0] * p.extent[1] * p.extent[2] + 15) / 16 * 16;
    p.together = max_of(1, min_of(p.channels, kStencilCopy / max_of(p.plane, 1)));
    const StencilRuns runs = stencil_runs<T>(p, p.block);
    p.stencil = p.cells() > 0 && runs.count * runs.pitch * p.filters < p.positions() * kLanes<T>;
  }
  if (!p.stencil) plan_blocks(s, p, max_of(96, min_of(512, 131072 / (p.panels * kMicroCols<T>))));
}
template <class T> static ConvPlan plan_forward(const ConvShape& s) {
  ConvPlan p{};
  for (int d = 0; d < 3; d++) p.axis[d] = forward_axis(s, d);
  p.taps = s.taps(), p.channels = s.channels, p.filters = s.filters;
  finish_plan<T>(s, p);
  return p;
}
template <class T> static ConvPlan plan_input(const ConvShape& s, int64_t residue) {
  ConvPlan p{};
  for (int d = 2; d >= 0; d--) {
    p.axis[d] = input_axis(s, d, residue % s.stride[d]);
    residue /= s.stride[d];
  }
  p.taps = p.axis[0].taps * p.axis[1].taps * p.axis[2].taps, p.channels = s.filters, p.filters = s.channels;
  finish_plan<T>(s, p);
  return p;
}

// Calls f(tap's number in the kernel, its offset in a block's copy, t) in order.
template <class F> static void for_taps(const ConvPlan& p, const ConvShape& s, F&& f) {
  int64_t t = 0;
  const ConvAxis* x = p.axis;
  for (int64_t a = 0; a < x[0].taps; a++) {
    for (int64_t b = 0; b < x[1].taps; b++) {
      for (int64_t c = 0; c < x[2].taps; c++) {
        auto number = [&](int d, int64_t i) { return x[d].tap + i * x[d].tap_step; };
        auto offset = [&](int d, int64_t i) { return x[d].first + i * x[d].slope - x[d].lowest(); };
        f((number(0, a) * s.kernel[1] + number(1, b)) * s.kernel[2] + number(2, c),
          (offset(0, a) * p.extent[1] + offset(1, b)) * p.extent[2] + offset(2, c), t++);
      }
    }
  }
}
// Offsets of the steps (channel, tap) of `together` channels.
static inline void step_offsets(const ConvPlan& p, const ConvShape& s, int64_t* at) {
  for (int64_t c = 0; c < p.together; c++)
    for_taps(p, s, [&](int64_t, int64_t offset, int64_t t) { at[c * p.taps + t] = c * p.plane + offset; });
}

// The positions of one block.
struct ConvBlock {
  int64_t begin[3], size[3];
  int64_t positions() const { return size[0] * size[1] * size[2]; }
};
static inline ConvBlock block_of(const ConvPlan& p, int64_t number) {
  ConvBlock b{};
  for (int d = 2; d >= 0; d--) {
    b.begin[d] = number % p.blocks[d] * p.block[d];
    b.size[d] = min_of(p.block[d], p.axis[d].count - b.begin[d]);
    number /= p.blocks[d];
  }
  return b;
}
static inline void row_offsets(const ConvPlan& p, const ConvBlock& b, int64_t* at) {
  for (int64_t i = 0; i < b.size[0]; i++) {
    for (int64_t j = 0; j < b.size[1]; j++) {
      const int64_t row = (i * p.axis[0].step * p.extent[1] + j * p.axis[1].step) * p.extent[2];
      for (int64_t k = 0; k < b.size[2]; k++) *at++ = row + k * p.axis[2].step;
    }
  }
}

// The same for `images` of them.
static inline void row_offsets(const ConvPlan& p, const ConvBlock& b, int64_t images, int64_t* at) {
  for (int64_t m = 0, n = b.positions(); m < images; m++) {
    row_offsets(p, b, at + m * n);
    for (int64_t i = 0; i < n; i++) at[m * n + i] += m * p.image();
  }
}

}  // namespace dyadic::DY_ISA
