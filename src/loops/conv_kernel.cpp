// Convolution and the gradient of its input: one pass over blocks of positions, Note [Convolution as a product].
#include "loops/conv.h"

#include "loops/conv_stencil.h"

namespace dyadic::DY_ISA {
namespace {

bool is_double(Source x) { return x.format->def->compute == Compute::f64; }

// Parts of a pass's workspace, in order: what all threads share, then one slot per thread.
template <class T> struct Sizes {
  int64_t weight, bias, panels, steps;          // elements
  int64_t copy, dense, sums, rows, transposed;  // of a slot
  int64_t shared() const {
    return 64 + Scratch::padded(weight * sizeof(T)) + Scratch::padded(bias * sizeof(T)) + Scratch::padded(panels * sizeof(T)) +
           Scratch::padded(steps * 8);
  }
  int64_t slot() const {
    return Scratch::padded(copy * sizeof(T)) + Scratch::padded(dense * sizeof(T)) + Scratch::padded(sums * sizeof(T)) +
           Scratch::padded(rows * 8) + Scratch::padded(transposed * sizeof(T));
  }
};
template <class T> Sizes<T> sizes_of(const ConvShape& s, const ConvPlan& p, Source x, Source w) {
  const int64_t lanes = p.panels * kMicroCols<T>,
                weight = stores<T>(w.format) ? 0 : s.groups * s.filters * s.channels * s.taps();
  if (p.stencil) {
    const StencilRuns runs = stencil_runs<T>(p, p.block);
    return {weight,
            s.groups * p.filters,
            s.groups * p.filters * p.steps(),
            p.together * p.taps,
            p.image() + kLanes<T>,
            dense_size<T>(p, x),
            p.filters * runs.count * runs.pitch,
            runs.count * runs.pitch / kLanes<T>,
            p.extent[2]};
  }
  return {weight,
          s.groups * lanes,
          s.groups * lanes * p.steps(),
          p.together * p.taps,
          p.images * p.image() + kLanes<T>,
          dense_size<T>(p, x),
          lanes * p.rows(),
          p.rows(),
          kMicroCols<T> * p.positions()};
}
template <class T> int64_t bytes_of(const ConvShape& s, const ConvPlan& p, Source x, Source w) {
  const Sizes<T> z = sizes_of<T>(s, p, x, w);
  return z.shared() + num_threads() * z.slot();
}

// panels[group][panel][channel, tap][filter]: rows of vectors, zeros beyond the last filter.
template <class T> void pack_weight(const ConvShape& s, const ConvPlan& p, bool transposed, const T* w, T* to) {
  const int64_t all = s.taps(), panel = p.steps() * kMicroCols<T>;
  const int64_t filter = transposed ? all : s.channels * all, channel = transposed ? s.channels * all : all;
  parallel_for(s.groups * p.panels, max_of(1, 32768 / max_of(panel, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t group = i / p.panels, first = i % p.panels * kMicroCols<T>;
      const int64_t lanes = min_of(kMicroCols<T>, p.filters - first);
      const T* from = w + group * s.filters * s.channels * all + first * filter;
      T* o = to + i * panel;
      if (!transposed) {
        pack_block(from, 1, filter, p.steps(), lanes, kMicroCols<T>, o, kMicroCols<T>);
        continue;
      }
      if (lanes < kMicroCols<T>) zero_row(o, panel);
      for (int64_t c = 0; c < p.channels; c++) {
        for_taps(p, s, [&](int64_t tap, int64_t, int64_t t) {
          T* row = o + (c * p.taps + t) * kMicroCols<T>;
          for (int64_t f = 0; f < lanes; f++) row[f] = from[f * filter + c * channel + tap];
        });
      }
    }
  });
}

// The same for a stencil: rows[group][filter][channel, tap].
template <class T> void order_weight(const ConvShape& s, const ConvPlan& p, bool transposed, const T* w, T* to) {
  const int64_t all = s.taps(), filter = transposed ? all : s.channels * all, channel = transposed ? s.channels * all : all;
  for (int64_t g = 0; g < s.groups; g++, w += s.filters * s.channels * all) {
    for (int64_t f = 0; f < p.filters; f++) {
      for (int64_t c = 0; c < p.channels; c++, to += p.taps)
        for_taps(p, s, [&](int64_t tap, int64_t, int64_t t) { to[t] = w[f * filter + c * channel + tap]; });
    }
  }
}

template <class T> struct Pass {
  const ConvShape& s;
  const ConvPlan& p;
  Source x;
  Target y;
  const int64_t* out;  // sizes of the written side
  int64_t item, slot;  // per thread
  T *bias, *panels;
  int64_t* steps;
  char* slots;
};

// y's elements `to`, `to` + step ... of a row of sums.
template <class T> void write_sums(const Pass<T>& a, const T* row, int64_t to, int64_t length) {
  const int64_t step = a.p.axis[2].out_step;
  if (step == 1) return write_row(row, a.y, to, length);
  if (stores<T>(a.y.format)) {
    for (int64_t k = 0; k < length; k++) static_cast<T*>(a.y.data)[to + k * step] = row[k];
    return;
  }
  for (int64_t k = 0; k < length; k++) write_row(row + k, a.y, to + k * step, 1);
}
// y's rows from sums[position][filter] of one panel.
template <class T>
void write_panel(const Pass<T>& a, const ConvBlock& b, const T* sums, int64_t at, int64_t lanes, T* transposed) {
  const int64_t n = b.positions(), channel = a.out[0] * a.out[1] * a.out[2];
  const bool whole = is_whole(a.p, b, a.out), direct = whole && stores<T>(a.y.format);
  transpose_block(sums, kMicroCols<T>, n, lanes, direct ? static_cast<T*>(a.y.data) + at : transposed, n);
  if (direct) return;
  if (whole) return write_row(transposed, a.y, at, lanes * n);
  for (int64_t f = 0; f < lanes; f++) {
    for_rows(a.p, b, a.out, [&](int64_t to, int64_t from, int64_t length) {
      write_sums(a, transposed + f * n + from, to + at + f * channel, length);
    });
  }
}

template <class T> void run_stencil(const Pass<T>& a, const Sizes<T>& z, int64_t item) {
  const ConvPlan& p = a.p;
  const int64_t group = item / p.cells() % a.s.groups, first_image = item / p.cells() / a.s.groups * p.images;
  Scratch scratch(a.slots + thread_index() * a.slot);
  T *copy = scratch.take<T>(z.copy), *dense = z.dense ? scratch.take<T>(z.dense) : nullptr, *sums = scratch.take<T>(z.sums);
  auto* starts = scratch.take<int64_t>(z.rows);
  T* row = scratch.take<T>(z.transposed);
  const ConvBlock b = block_of(p, item % p.cells());
  const StencilRuns runs = stencil_runs<T>(p, b.size);
  const int64_t vectors = vector_offsets<T>(p, runs, b.size, starts);
  const int64_t stretch = runs.count * runs.pitch, plane = p.axis[0].size * p.axis[1].size * p.axis[2].size;
  const int64_t channel = a.out[0] * a.out[1] * a.out[2];
  for (int64_t m = first_image; m < min_of(a.s.batch, first_image + p.images); m++) {
    const int64_t number = m * a.s.groups + group;
    int64_t c = 0;
    do {
      const int64_t count = p.taps ? min_of(p.together, p.channels - c) : 0;
      copy_block(p, b, a.x, (number * p.channels + c) * plane, count, dense, copy);
      sort_rows(p, count, copy, row);
      const T* w = a.panels + group * p.filters * p.steps() + c * p.taps;
      const T* start = c == 0 ? a.bias + group * p.filters : nullptr;
      stencil_product<T>({vectors, count * p.taps, copy, starts, a.steps, w, p.steps(), start, sums, stretch}, p.filters);
      c += p.together;
    } while (p.taps && c < p.channels);
    for (int64_t f = 0; f < p.filters; f++) {
      const T* from = sums + f * stretch;
      int64_t r = 0;
      for_rows(p, b, a.out, [&](int64_t to, int64_t, int64_t length) {
        const T* at = runs.whole ? from + r / b.size[1] * runs.pitch + r % b.size[1] * p.extent[2] : from + r * runs.pitch;
        write_sums(a, at, (number * p.filters + f) * channel + to, length);
        r++;
      });
    }
  }
}

template <class T> void run_item(const Pass<T>& a, const Sizes<T>& z, int64_t item) {
  const ConvPlan& p = a.p;
  const int64_t group = item / p.cells() % a.s.groups, first_image = item / p.cells() / a.s.groups * p.images;
  const int64_t images = min_of(p.images, a.s.batch - first_image);
  Scratch scratch(a.slots + thread_index() * a.slot);
  T *copy = scratch.take<T>(z.copy), *dense = z.dense ? scratch.take<T>(z.dense) : nullptr, *sums = scratch.take<T>(z.sums);
  auto* rows = scratch.take<int64_t>(z.rows);
  T* transposed = scratch.take<T>(z.transposed);
  const ConvBlock b = block_of(p, item % p.cells());
  row_offsets(p, b, images, rows);
  const int64_t n = b.positions(), stretch = p.rows() * kMicroCols<T>, lanes = p.panels * kMicroCols<T>;
  const int64_t plane = p.axis[0].size * p.axis[1].size * p.axis[2].size;
  auto number = [&](int64_t m) { return (first_image + m) * a.s.groups + group; };
  int64_t c = 0;
  do {
    const int64_t count = p.taps ? min_of(p.together, p.channels - c) : 0;
    for (int64_t m = 0; m < images; m++)
      copy_block(p, b, a.x, (number(m) * p.channels + c) * plane, count, dense, copy + m * p.image());
    for (int64_t k = 0; k < p.panels; k++) {
      const T* panel = a.panels + ((group * p.panels + k) * p.steps() + c * p.taps) * kMicroCols<T>;
      const T* start = c == 0 ? a.bias + group * lanes + k * kMicroCols<T> : nullptr;
      const OffsetTile<T> tile{images * n, count * p.taps, copy, rows, a.steps, panel, sums + k * stretch, start};
      offset_product(tile, p.filters - k * kMicroCols<T>);
    }
    c += p.together;
  } while (p.taps && c < p.channels);
  const int64_t channel = a.out[0] * a.out[1] * a.out[2];
  for (int64_t m = 0; m < images; m++) {
    for (int64_t k = 0; k < p.panels; k++) {
      const int64_t first = k * kMicroCols<T>, to = (number(m) * p.filters + first) * channel;
      write_panel(a, b, sums + k * stretch + m * n * kMicroCols<T>, to, min_of(kMicroCols<T>, p.filters - first), transposed);
    }
  }
}

template <class T>
void run_pass(const ConvShape& s, const ConvPlan& p, bool transposed, Source x, Source w, Source bias, Target y,
              void* workspace) {
  if (p.cells() == 0) return;
  const Sizes<T> z = sizes_of<T>(s, p, x, w);
  Scratch scratch(workspace);
  const T* weight = static_cast<const T*>(w.data);
  if (T* decoded = scratch.take<T>(z.weight); z.weight) {
    w.format->def->decode(w.data, decoded, z.weight);
    weight = decoded;
  }
  Pass<T> a{s, p, x, y, transposed ? s.in : s.out, 0, z.slot(), nullptr, nullptr, nullptr, nullptr};
  a.bias = scratch.take<T>(z.bias);
  a.panels = scratch.take<T>(z.panels);
  a.steps = scratch.take<int64_t>(z.steps);
  a.slots = scratch.at;
  zero_row(a.bias, z.bias);
  for (int64_t g = 0; bias.data && g < s.groups; g++)
    read_row(bias, g * p.filters, a.bias + g * (z.bias / s.groups), p.filters);
  const int64_t items = p.batches * s.groups * p.cells();
  if (p.stencil) {
    order_weight(s, p, transposed, weight, a.panels);
    stencil_offsets(p, s, a.steps);
    parallel_each(items, [&](int64_t item) { run_stencil(a, z, item); });
  } else {
    pack_weight(s, p, transposed, weight, a.panels);
    step_offsets(p, s, a.steps);
    parallel_each(items, [&](int64_t item) { run_item(a, z, item); });
  }
}

int64_t forward_workspace(const ConvShape& s, Source x, Source w) {
  return is_double(x) ? bytes_of<double>(s, plan_forward<double>(s), x, w) : bytes_of<float>(s, plan_forward<float>(s), x, w);
}
void forward(const ConvShape& s, Source x, Source w, Source bias, Target y, void* workspace) {
  is_double(x) ? run_pass<double>(s, plan_forward<double>(s), false, x, w, bias, y, workspace)
               : run_pass<float>(s, plan_forward<float>(s), false, x, w, bias, y, workspace);
}

int64_t residues(const ConvShape& s) { return s.stride[0] * s.stride[1] * s.stride[2]; }
template <class T> int64_t input_bytes(const ConvShape& s, Source dy, Source w) {
  int64_t most = 0;
  for (int64_t r = 0; r < residues(s); r++) most = max_of(most, bytes_of<T>(s, plan_input<T>(s, r), dy, w));
  return most;
}
template <class T> void input_as(const ConvShape& s, Source dy, Source w, Source bias, Target dx, void* workspace) {
  for (int64_t r = 0; r < residues(s); r++) run_pass<T>(s, plan_input<T>(s, r), true, dy, w, bias, dx, workspace);
}
int64_t input_workspace(const ConvShape& s, Source dy, Source w) {
  return is_double(dy) ? input_bytes<double>(s, dy, w) : input_bytes<float>(s, dy, w);
}
void input(const ConvShape& s, Source dy, Source w, Source bias, Target dx, void* workspace) {
  is_double(dy) ? input_as<double>(s, dy, w, bias, dx, workspace) : input_as<float>(s, dy, w, bias, dx, workspace);
}

}  // namespace

extern const ConvKernel conv_kernel = {forward_workspace, forward, input_workspace, input};

}  // namespace dyadic::DY_ISA
