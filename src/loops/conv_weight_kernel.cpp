// The gradient of a convolution's weight: the product over positions, Note [Convolution as a product]. Blocks of positions are
// added up in chunks fixed by the shape, and the chunks in order.
#include "loops/conv.h"
#include "loops/conv_stencil.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kMostChunks = 16;              // parts that are added up at the end
constexpr int64_t kPartials = int64_t(1) << 22;  // elements they may have together

// dy's channels are lanes, x's (channel, tap) rows. An item is a chunk of the blocks of all images, and a part of the channels.
struct WeightPlan {
  ConvPlan p;
  int64_t blocks, chunk, chunks;               // of all images; blocks of a chunk
  int64_t part, parts;                         // channels of a part
  int64_t partial;                             // elements of one chunk's sums, all groups
  int64_t copy, dense, lanes, rows, at, slot;  // elements of a thread's slot; its bytes
};
template <class T> int64_t slot_bytes(const WeightPlan& w) {
  return Scratch::padded(w.copy * sizeof(T)) + Scratch::padded(w.dense * sizeof(T)) + Scratch::padded(w.lanes * sizeof(T)) +
         Scratch::padded(w.rows * 8) + Scratch::padded(w.at * sizeof(T));
}
// Elements from row to row of a stencil's dy: whole vectors.
template <class T> int64_t lane_pitch(const ConvPlan& p) { return (p.block[2] + kLanes<T> - 1) / kLanes<T> * kLanes<T>; }
template <class T> WeightPlan plan_weight(const ConvShape& s, Source x) {
  WeightPlan w{};
  w.p = plan_forward<T>(s);
  w.dense = dense_size<T>(w.p, x);
  const int64_t width = w.p.stencil ? w.p.filters * kLanes<T> : w.p.panels * kMicroCols<T>;
  w.partial = s.groups * width * w.p.steps();
  w.blocks = w.p.batches * w.p.cells();
  const int64_t most = max_of(1, min_of(kMostChunks, kPartials / max_of(w.partial, 1)));
  w.chunk = max_of(1, (w.blocks + most - 1) / most);
  w.chunks = max_of(1, (w.blocks + w.chunk - 1) / w.chunk);
  const int64_t wanted = max_of(1, min_of(kMostChunks / w.chunks / s.groups, w.p.channels));
  w.part = max_of(1, (w.p.channels + wanted - 1) / wanted);
  w.parts = (w.p.channels + w.part - 1) / w.part;
  if (w.p.stencil) {
    w.copy = w.p.image() + kLanes<T>;
    w.lanes = w.p.block[0] * w.p.block[1] * lane_pitch<T>(w.p);
    w.rows = 0;
    w.at = w.p.extent[2];
    w.slot = slot_bytes<T>(w);
    return w;
  }
  w.copy = w.p.images * w.p.image() + kLanes<T>;
  w.lanes = width * w.p.rows();
  w.rows = w.p.rows();
  w.at = kMicroCols<T> * w.p.positions();
  w.slot = slot_bytes<T>(w);
  return w;
}
template <class T> int64_t bytes_of(const ConvShape& s, Source x) {
  const WeightPlan w = plan_weight<T>(s, x);
  return 64 + Scratch::padded(w.chunks * w.partial * sizeof(T)) + Scratch::padded(w.p.together * w.p.taps * 8) +
         num_threads() * w.slot;
}

// to[panel][position][filter] from dy's channels, which begin at element `at`.
template <class T>
void gather_lanes(const ConvShape& s, const ConvPlan& p, const ConvBlock& b, Source dy, int64_t at, T* rows, T* to) {
  const int64_t n = b.positions(), channel = s.out[0] * s.out[1] * s.out[2], stretch = p.rows() * kMicroCols<T>;
  const bool whole = is_whole(p, b, s.out);
  for (int64_t k = 0; k < p.panels; k++) {
    const int64_t first = k * kMicroCols<T>, lanes = min_of(kMicroCols<T>, p.filters - first), begin = at + first * channel;
    const T* from = rows;
    if (whole && stores<T>(dy.format)) {
      from = static_cast<const T*>(dy.data) + begin;
    } else if (whole) {
      read_row(dy, begin, rows, lanes * n);
    } else {
      for (int64_t f = 0; f < lanes; f++) {
        for_rows(p, b, s.out, [&](int64_t row, int64_t position, int64_t length) {
          read_row(dy, begin + f * channel + row, rows + f * n + position, length);
        });
      }
    }
    T* o = to + k * stretch;
    if (lanes < kMicroCols<T>) zero_row(o, n * kMicroCols<T>);
    transpose_block(from, n, lanes, n, o, kMicroCols<T>);
  }
}

template <class T> struct Work {
  const ConvShape& s;
  const WeightPlan& w;
  Source x, dy;
  T* partials;
  int64_t* steps;
  char* slots;
};

template <class T> void add_block(const Work<T>& a, int64_t block, int64_t group, int64_t first, int64_t last, T* sums) {
  const ConvPlan& p = a.w.p;
  const int64_t first_image = block / p.cells() * p.images, images = min_of(p.images, a.s.batch - first_image);
  const ConvBlock b = block_of(p, block % p.cells());
  Scratch scratch(a.slots + thread_index() * a.w.slot);
  T *copy = scratch.take<T>(a.w.copy), *dense = a.w.dense ? scratch.take<T>(a.w.dense) : nullptr;
  T* lanes = scratch.take<T>(a.w.lanes);
  auto* positions = scratch.take<int64_t>(a.w.rows);
  T* rows = scratch.take<T>(a.w.at);
  row_offsets(p, b, images, positions);
  const int64_t out = a.s.out[0] * a.s.out[1] * a.s.out[2], in = a.s.in[0] * a.s.in[1] * a.s.in[2];
  const int64_t n = b.positions(), all = images * n, stretch = p.rows() * kMicroCols<T>;
  auto number = [&](int64_t m) { return (first_image + m) * a.s.groups + group; };
  for (int64_t m = 0; m < images; m++)
    gather_lanes(a.s, p, b, a.dy, number(m) * p.filters * out, rows, lanes + m * n * kMicroCols<T>);
  for (int64_t c = first; c < last; c += p.together) {
    const int64_t count = min_of(p.together, last - c);
    for (int64_t m = 0; m < images; m++)
      copy_block(p, b, a.x, (number(m) * p.channels + c) * in, count, dense, copy + m * p.image());
    for (int64_t at = 0; at < all; at += kConvSteps) {
      const int64_t steps = min_of(kConvSteps, all - at);
      for (int64_t k = 0; k < p.panels; k++) {
        T* to = sums + ((group * p.panels + k) * p.steps() + c * p.taps) * kMicroCols<T>;
        const T* panel = lanes + k * stretch + at * kMicroCols<T>;
        const OffsetTile<T> tile{count * p.taps, steps, copy, a.steps, positions + at, panel, to, nullptr};
        offset_product(tile, p.filters - k * kMicroCols<T>);
      }
    }
  }
}

// sums[tap][lane] += dy's rows times the NT taps' elements of x, lane by lane.
template <int NT, class T>
void add_taps(const ConvPlan& p, const ConvBlock& b, const T* x, const T* dy, const int64_t* at, T* sums) {
  using V = Vec<T>;
  constexpr int64_t L = V::size();
  const int64_t pitch = lane_pitch<T>(p), whole = b.size[2] / L * L;
  V acc[NT];
  DY_UNROLL for (int t = 0; t < NT; t++) acc[t] = V::load(sums + t * L);
  auto add_row = [&](const T* from, const T* g) {
    for (int64_t i = 0; i < whole; i += L) {
      const V gv = V::load(g + i);
      DY_UNROLL for (int t = 0; t < NT; t++) acc[t] = fma(gv, V::load(from + at[t] + i), acc[t]);
    }
    if (whole == b.size[2]) return;
    // Without what lies beyond the row: infinity times zero would be NaN.
    const V gv = V::load(g + whole);
    const size_t left = size_t(b.size[2] - whole);
    DY_UNROLL for (int t = 0; t < NT; t++) acc[t] = fma(gv, V::load_n(from + at[t] + whole, left), acc[t]);
  };
  for (int64_t i = 0; i < b.size[0]; i++) {
    const T* from = x + i * p.axis[0].step * p.extent[1] * p.extent[2];
    for (int64_t j = 0; j < b.size[1]; j++, from += p.axis[1].step * p.extent[2], dy += pitch) add_row(from, dy);
  }
  DY_UNROLL for (int t = 0; t < NT; t++) acc[t].store(sums + t * L);
}
constexpr int kTaps = kMicroRows > 8 ? 12 : 9;  // at a time, of 32 or 16 registers
template <int NT, class T>
void add_taps(int64_t taps, const ConvPlan& p, const ConvBlock& b, const T* x, const T* dy, const int64_t* at, T* sums) {
  if constexpr (NT > 0) taps == NT ? add_taps<NT>(p, b, x, dy, at, sums) : add_taps<NT - 1>(taps, p, b, x, dy, at, sums);
}

// sums[filter][channel, tap][lane].
template <class T> void add_stencil(const Work<T>& a, int64_t block, int64_t group, int64_t first, int64_t last, T* sums) {
  const ConvPlan& p = a.w.p;
  const int64_t first_image = block / p.cells() * p.images, parts = (p.taps + kTaps - 1) / kTaps;
  const ConvBlock b = block_of(p, block % p.cells());
  Scratch scratch(a.slots + thread_index() * a.w.slot);
  T *copy = scratch.take<T>(a.w.copy), *dense = a.w.dense ? scratch.take<T>(a.w.dense) : nullptr;
  T *lanes = scratch.take<T>(a.w.lanes), *row = scratch.take<T>(a.w.at);
  const int64_t out = a.s.out[0] * a.s.out[1] * a.s.out[2], in = a.s.in[0] * a.s.in[1] * a.s.in[2];
  const int64_t pitch = lane_pitch<T>(p);
  for (int64_t m = first_image; m < min_of(a.s.batch, first_image + p.images); m++) {
    const int64_t number = m * a.s.groups + group;
    for (int64_t c = first; c < last; c += p.together) {
      const int64_t count = min_of(p.together, last - c);
      copy_block(p, b, a.x, (number * p.channels + c) * in, count, dense, copy);
      sort_rows(p, count, copy, row);
      for (int64_t f = 0; f < p.filters; f++) {
        T* to = lanes;
        for_rows(p, b, a.s.out, [&](int64_t from, int64_t, int64_t length) {
          read_row(a.dy, (number * p.filters + f) * out + from, to, length);
          zero_row(to + length, pitch - length);
          to += pitch;
        });
        for (int64_t i = 0; i < count * parts; i++) {
          const int64_t t = i % parts * p.taps / parts, end = (i % parts + 1) * p.taps / parts, step = i / parts * p.taps + t;
          T* at = sums + (f * p.steps() + c * p.taps + step) * kLanes<T>;
          add_taps<kTaps>(end - t, p, b, copy, lanes, a.steps + step, at);
        }
      }
    }
  }
}
template <class T> void run_stencil(const Work<T>& a, int64_t item) {
  const WeightPlan& w = a.w;
  const int64_t part = item % w.parts, group = item / w.parts % a.s.groups, chunk = item / w.parts / a.s.groups;
  const int64_t first = part * w.part, last = min_of(w.p.channels, first + w.part), filter = w.p.steps() * kLanes<T>;
  T* sums = a.partials + chunk * w.partial + group * w.p.filters * filter;
  for (int64_t f = 0; f < w.p.filters; f++)
    zero_row(sums + f * filter + first * w.p.taps * kLanes<T>, (last - first) * w.p.taps * kLanes<T>);
  for (int64_t block = chunk * w.chunk; block < min_of(w.blocks, (chunk + 1) * w.chunk); block++)
    add_stencil(a, block, group, first, last, sums);
}
template <class T> void combine_stencil(const Work<T>& a, Target dw) {
  const int64_t steps = a.w.p.steps();
  parallel_for(a.s.groups * a.w.p.filters, max_of(1, 4096 / max_of(steps * a.w.chunks, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * steps; i < end * steps; i++) {
      Vec<T> sum(0);
      for (int64_t c = 0; c < a.w.chunks; c++) sum += Vec<T>::load(a.partials + c * a.w.partial + i * kLanes<T>);
      const T one = reduce_sum(sum);
      write_row(&one, dw, i, 1);
    }
  });
}

template <class T> void run_item(const Work<T>& a, int64_t item) {
  const WeightPlan& w = a.w;
  const int64_t part = item % w.parts, group = item / w.parts % a.s.groups, chunk = item / w.parts / a.s.groups;
  const int64_t first = part * w.part, last = min_of(w.p.channels, first + w.part);
  T* sums = a.partials + chunk * w.partial;
  for (int64_t k = 0; k < w.p.panels; k++)
    zero_row(sums + ((group * w.p.panels + k) * w.p.steps() + first * w.p.taps) * kMicroCols<T>,
             (last - first) * w.p.taps * kMicroCols<T>);
  for (int64_t block = chunk * w.chunk; block < min_of(w.blocks, (chunk + 1) * w.chunk); block++)
    add_block(a, block, group, first, last, sums);
}

// dw[filter][channel, tap] = the sum of the chunks.
template <class T> void combine(const Work<T>& a, Target dw) {
  const WeightPlan& w = a.w;
  const int64_t steps = w.p.steps();
  parallel_for(a.s.groups * w.p.panels, max_of(1, 16384 / max_of(steps * w.chunks, 1)), [&](int64_t begin, int64_t end) {
    alignas(64) T sum[16 * kMicroCols<T>], turned[16 * kMicroCols<T>];
    for (int64_t i = begin; i < end; i++) {
      const int64_t first = i % w.p.panels * kMicroCols<T>, lanes = min_of(kMicroCols<T>, w.p.filters - first);
      const int64_t to = (i / w.p.panels * w.p.filters + first) * steps;
      for (int64_t r = 0; r < steps; r += 16) {
        const int64_t rows = min_of(16, steps - r), n = rows * kMicroCols<T>;
        const T* from = a.partials + (i * steps + r) * kMicroCols<T>;
        for (int64_t j = 0; j < n; j++) sum[j] = from[j];
        for (int64_t c = 1; c < w.chunks; c++)
          for (int64_t j = 0; j < n; j++) sum[j] += from[c * w.partial + j];
        transpose_block(sum, kMicroCols<T>, rows, lanes, turned, 16);
        for (int64_t f = 0; f < lanes; f++) write_row(turned + f * 16, dw, to + f * steps + r, rows);
      }
    }
  });
}

template <class T> void run_as(const ConvShape& s, Source x, Source dy, Target dw, void* workspace) {
  const WeightPlan w = plan_weight<T>(s, x);
  Scratch scratch(workspace);
  Work<T> a{s, w, x, dy, nullptr, nullptr, nullptr};
  a.partials = scratch.take<T>(w.chunks * w.partial);
  a.steps = scratch.take<int64_t>(w.p.together * w.p.taps);
  a.slots = scratch.at;
  const int64_t items = w.chunks * s.groups * w.parts;
  if (w.p.stencil) {
    stencil_offsets(w.p, s, a.steps);
    parallel_each(items, [&](int64_t item) { run_stencil(a, item); });
    return combine_stencil(a, dw);
  }
  step_offsets(w.p, s, a.steps);
  parallel_each(items, [&](int64_t item) { run_item(a, item); });
  combine(a, dw);
}

int64_t workspace(const ConvShape& s, Source x) {
  return x.format->def->compute == Compute::f64 ? bytes_of<double>(s, x) : bytes_of<float>(s, x);
}
void run(const ConvShape& s, Source x, Source dy, Target dw, void* workspace) {
  x.format->def->compute == Compute::f64 ? run_as<double>(s, x, dy, dw, workspace) : run_as<float>(s, x, dy, dw, workspace);
}

}  // namespace

extern const ConvWeightKernel conv_weight_kernel = {workspace, run};

}  // namespace dyadic::DY_ISA
