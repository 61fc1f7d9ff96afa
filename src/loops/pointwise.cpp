#include "loops/pointwise.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "loops/layout.h"
#include "loops/stream_kernel.h"
#include "loops/strided_copy_kernel.h"

namespace dyadic::inline v1 {

using namespace tiles;

namespace {

constexpr int64_t kGrain = 32 << 10;  // elements a thread takes at least

bool stored_as(const Format& f, Compute c) { return &f == &compute_format(c); }

const void* load(const Format& f, const char* stored, Compute compute, char* tile, char* other, int64_t n) {
  if (stored_as(f, compute)) return stored;
  if (f.compute() == compute) {
    f.def->decode(stored, tile, n);
    return tile;
  }
  const void* own = stored;
  if (!stored_as(f, f.compute())) f.def->decode(stored, other, n), own = other;
  convert_compute(f.compute(), own, compute, tile, n);
  return tile;
}

void store(const Format& f, const void* tile, Compute compute, bool mask, char* stored, char* other, int64_t n) {
  if (mask) {
    convert(*boolean.format(), tile, f, stored, n);
    return;
  }
  if (f.compute() != compute) {
    bool narrow = f.compute() == Compute::f32 && f.def->bits < 32;
    convert_compute(compute, tile, f.compute(), other, n, narrow);
    tile = other;
  }
  f.def->encode(tile, stored, n, Round{});
}

// Runs body(Walk, State) on all tiles, State being a thread's own. stream: they were streamed.
template <class State, class Body> void for_tiles(const Space& s, const Cut& cut, bool stream, const Body& body) {
  parallel_for(Walk::tiles(s, cut), std::max<int64_t>(1, kGrain / (cut.rows * cut.inside)), [&](int64_t begin, int64_t end) {
    State state;
    Walk at(s, cut, begin);
    for (int64_t t = begin;;) {
      body(at, state);
      if (++t == end) break;
      at.next();
    }
    if (stream) stream_kernel().flush();
  });
}

// n copies of one stored element, in the compute type.
void splat(const Format& f, const char* stored, Compute compute, char* tile, int64_t n) {
  if (compute == Compute::f32 && stored_as(f, Compute::f64)) {  // a number
    const float value = float(*reinterpret_cast<const double*>(stored));
    if (n <= 16)
      std::fill_n(reinterpret_cast<float*>(tile), n, value);
    else
      strided_copy_kernel().splat(tile, reinterpret_cast<const char*>(&value), n, sizeof(float));
    return;
  }
  alignas(16) char one[16], other[16];
  const void* value = load(f, stored, compute, one, other, 1);
  strided_copy_kernel().splat(tile, static_cast<const char*>(value), n, compute_size(compute));
}

// Small results of dense operands of their compute type, and of single elements: one tile, without the search for a way through
// strides that costs more than it. False: not of that kind.
bool run_small(const PointwiseLoop& loop, const Tensor& out, bool direct) {
  constexpr int64_t kSmall = 128;
  const int64_t n = out.numel();
  if (n > kSmall || !direct || !out.is_contiguous()) return false;
  alignas(64) char tiles[PointwiseLoop::kOperands][kSmall * 16];
  const void* pointers[PointwiseLoop::kOperands];
  for (int i = 0; i < loop.inputs; ++i) {
    pointers[i] = nullptr;
    if (!loop.in[i]) continue;
    const TensorImpl& t = *loop.in[i]->impl();
    if (t.numel == n && t.contiguous() && stored_as(*t.dtype.format(), loop.compute)) {
      pointers[i] = t.data();
    } else if (t.numel == 1) {
      splat(*t.dtype.format(), t.data(), loop.compute, tiles[i], n);
      pointers[i] = tiles[i];
    } else {
      return false;
    }
  }
  loop.tile(pointers, out.impl()->data(), loop.params, n, 0);
  return true;
}

// Integers of one dtype narrower than the lanes: as words, as they lie. A bool of any byte but 0 counts as 1.
void run_bits(const PointwiseLoop& loop, const Space& s) {
  constexpr int64_t kBytes = 4096;
  const int64_t bytes = s.size[0] * s.op[0].size;
  const bool truth = s.op[0].format == boolean.format();
  parallel_for((bytes + kBytes - 1) / kBytes, kGrain / kBytes, [&](int64_t begin, int64_t end) {
    alignas(64) uint8_t buffer[PointwiseLoop::kOperands + 1][kBytes];
    const void* in[PointwiseLoop::kOperands];
    for (int64_t at = begin * kBytes; at < std::min(bytes, end * kBytes); at += kBytes) {
      const int64_t n = std::min(kBytes, bytes - at);
      for (int k = 0; k < loop.inputs; ++k) {
        in[k] = s.op[k].base + at;
        if (n == kBytes && !truth) continue;
        in[k] = std::memcpy(buffer[k], in[k], size_t(n));
        if (!truth) continue;
        for (int64_t i = 0; i < kBytes; ++i) buffer[k][i] = buffer[k][i] != 0;
      }
      char* out = s.op[loop.inputs].base + at;
      loop.tile(in, n == kBytes ? out : static_cast<void*>(buffer[loop.inputs]), loop.params, (n + 3) / 4, 0);
      if (n < kBytes) std::memcpy(out, buffer[loop.inputs], size_t(n));
    }
  });
}

// How the tiles of one call are read, computed and written.
struct Run {
  const PointwiseLoop& loop;
  const Space& s;
  const int o;             // the result among the operands
  const unsigned singles;  // bit i set: input i is a single element
  const Format& target;
  const Compute leaves;
  const bool direct;         // a tile of the compute type writes what is stored
  const Format* const lies;  // the format that `tile` reads and writes as it is stored; null: it is of the compute type
  const Tile tile;
  const int64_t step;  // elements it works on at once
  const bool stream;
  const bool
      in_tile;  // vectors are streamed as they are computed, so that reading, computing and writing overlap; else a tile is
  const int64_t most;  // elements of a tile
  const Cut cut;
  Layout layouts[PointwiseLoop::kOperands + 1];
  alignas(64) char constants[PointwiseLoop::kOperands][kTileBytes];  // the single elements, which all tiles share

  Run(const PointwiseLoop& l, const Space& space, const Tensor& out, bool is_direct)
      : loop(l),
        s(space),
        o(l.inputs),
        singles(single_inputs(l)),
        target(*out.dtype().format()),
        leaves(l.real_out ? real_of(l.compute) : l.compute),
        direct(is_direct),
        lies(stored_format()),
        tile(lies ? stored_tile(lies) : l.tile),
        step(lies == bf16.format() ? kBf16Step : 1),
        stream(s.streams(o)),
        in_tile(stream && !l.mask_out && streams_vectors() && reinterpret_cast<uintptr_t>(s.op[o].base) % 64 == 0),
        most(kTileBytes / widest()),
        cut(s.cut(most)) {
    for (int k = 0; k <= o; ++k)
      if (s.op[k].format && !single(k)) layouts[k].plan(s, cut, k);
    for (int i = 0; i < loop.inputs; ++i)
      if (single(i))
        splat(*s.op[i].format, s.op[i].base, loop.compute, constants[i], takes_one() ? 1 : std::min(most, out.numel()));
  }
  bool narrow() const { return lies && lies != bf16.format(); }
  bool takes_one() const { return narrow() || (!lies && loop.takes_one); }
  int64_t widest() const {  // bytes of an element in any buffer
    if (narrow()) return lies->itemsize();
    int64_t bytes = compute_size(loop.compute);
    for (int k = 0; k <= o; ++k)
      if (s.op[k].format && !(k < o && single(k)))
        bytes = std::max({bytes, s.op[k].size, compute_size(s.op[k].format->compute())});
    return bytes;
  }
  static unsigned single_inputs(const PointwiseLoop& l) {
    unsigned some = 0;
    for (int i = 0; i < l.inputs; ++i) some |= unsigned(l.in[i] && l.in[i]->numel() == 1) << i;
    return some;
  }
  bool single(int i) const { return singles >> i & 1; }
  bool streams_vectors() const {
    if (lies) return lies == bf16.format();
    return direct && (loop.compute == Compute::f32 || loop.compute == Compute::f64);
  }
  Tile stored_tile(const Format* f) const {
    if (f == bf16.format()) return loop.bf16_tile;
    if (!loop.narrow_tiles) return nullptr;
    return f == u8.format()    ? loop.narrow_tiles[kU8]
           : f == i8.format()  ? loop.narrow_tiles[kI8]
           : f == i16.format() ? loop.narrow_tiles[kI16]
                               : nullptr;
  }
  // The result's format (a mask's: its inputs'), if there is a tile for it that takes the inputs: bf16 beside anything, narrow
  // integers beside numbers.
  const Format* stored_format() const {
    const Format* f = loop.mask_out ? nullptr : &target;
    bool some = false, others = false;
    for (int i = 0; i < loop.inputs; ++i) {
      if (!loop.in[i] || single(i)) continue;
      if (!f) f = s.op[i].format;
      (s.op[i].format == f ? some : others) = true;
    }
    if (!some || !f || !stored_tile(f) || (loop.mask_out && !direct)) return nullptr;
    return others && f != bf16.format() ? nullptr : f;
  }

  struct Buffers {
    alignas(64) char tiles[PointwiseLoop::kOperands][kTileBytes];
    alignas(64) char gathered[kTileBytes];
    alignas(64) char result[kTileBytes];
    alignas(64) char other[kTileBytes];
    const char* from[PointwiseLoop::kOperands] = {};  // what was gathered into `tiles`, and how many elements
    int64_t n[PointwiseLoop::kOperands];

    // Whether tile i has them from the tile before, as operands that broadcast do; else it is about to.
    bool holds(int i, const char* begin, int64_t count) {
      if (from[i] == begin && n[i] >= count) return true;
      from[i] = begin, n[i] = count;
      return false;
    }
  };
  // Operand i of a tile as the tile reads it. wide: in the compute type; one: a single element.
  const void* operand(int i, const Walk& at, Buffers& b, bool& wide, bool& one) const {
    wide = true, one = false;
    if (!loop.in[i]) return nullptr;
    const Format& f = *s.op[i].format;
    if (single(i)) {
      one = takes_one();
      return constants[i];
    }
    const Layout& layout = layouts[i];
    const char* stored = at.base[i];
    if (layout.single()) {
      one = takes_one();
      if (one && stored_as(f, loop.compute)) return stored;
      const int64_t n = one ? 1 : at.n;
      if (!b.holds(i, stored, n)) splat(f, stored, loop.compute, b.tiles[i], n);
      return b.tiles[i];
    }
    wide = &f != lies;
    if (!layout.flat()) {
      if (b.holds(i, stored, at.n)) return b.tiles[i];
      char* row = wide && !stored_as(f, loop.compute) ? b.gathered : b.tiles[i];
      layout.gather(row, stored, at.n);
      stored = row;
    }
    const void* read = wide ? load(f, stored, loop.compute, b.tiles[i], b.other, at.n) : stored;
    if (at.n % step == 0 || read == b.tiles[i]) return read;
    return std::memcpy(b.tiles[i], read, size_t(at.n * (wide ? compute_size(loop.compute) : f.itemsize())));
  }
  void operator()(const Walk& at, Buffers& b) const {
    const int64_t n = at.n;
    const void* pointers[PointwiseLoop::kOperands];
    unsigned mode = 0;
    for (int i = 0; i < loop.inputs; ++i) {
      bool wide, one;
      pointers[i] = operand(i, at, b, wide, one);
      if ((lies ? wide : one) && loop.in[i]) mode |= kWide << i;
    }
    char* dense = layouts[o].flat() ? at.base[o] : nullptr;
    const bool in_place = dense && n % step == 0 && (!stream || in_tile);
    if (in_place && in_tile) mode |= kStream;
    char* stored = in_place ? dense : direct || lies ? b.result : b.gathered;
    if (direct || lies) {
      tile(pointers, stored, loop.params, (n + step - 1) / step * step, mode);
    } else {
      tile(pointers, b.result, loop.params, n, mode);
      store(target, b.result, leaves, loop.mask_out, stored, b.other, n);
    }
    if (in_place) return;
    if (!dense)
      layouts[o].scatter(at.base[o], stored, n);
    else if (stream)
      stream_kernel().write(dense, stored, n * target.itemsize());
    else
      std::memcpy(dense, stored, size_t(n * target.itemsize()));
  }
};

}  // namespace

void PointwiseLoop::run(const Tensor& out) const {
  if (out.numel() == 0) return;
  const Compute leaves = real_out ? real_of(compute) : compute;
  const bool direct = mask_out ? out.dtype() == boolean : stored_as(*out.dtype().format(), leaves);
  if (run_small(*this, out, direct)) return;
  Space s;
  for (int i = 0; i < inputs; ++i) in[i] ? s.add(*in[i], out) : s.skip();
  s.add(out, out);
  s.coalesce(out);
  if (bits && s.alike()) return run_bits(*this, s);
  const Run run(*this, s, out, direct);
  for_tiles<Run::Buffers>(s, run.cut, run.stream, run);
}

void copy_elements(const Tensor& dst, const Tensor& src, const Round& round) {
  if (dst.numel() == 0) return;
  Space s;
  s.add(src, dst);
  s.add(dst, dst);
  s.coalesce(dst);
  const Format &from = *s.op[0].format, &to = *s.op[1].format;
  if (&from == &to) {  // moving, not computing: transposes in blocks
    int64_t strides[2][kMaxDims];
    for (int k = 0; k < 2; ++k)
      for (int d = 0; d < s.ndim; ++d) strides[k][d] = s.op[k].stride[d] / s.op[k].size;
    strided_copy_kernel().copy(s.op[1].base, strides[1], s.op[0].base, strides[0], s.size, s.ndim, s.op[0].size);
    return;
  }
  const bool stream = s.streams(1);
  const Cut cut = s.cut(s.tile());
  Layout layouts[2];
  for (int k = 0; k < 2; ++k) layouts[k].plan(s, cut, k);
  struct Buffers {
    alignas(64) char gathered[kTileBytes];
    alignas(64) char result[kTileBytes];
  };
  for_tiles<Buffers>(s, cut, stream, [&](const Walk& at, Buffers& b) {
    const int64_t n = at.n;
    const char* stored = at.base[0];
    if (!layouts[0].flat()) layouts[0].gather(b.gathered, stored, n), stored = b.gathered;
    Round r = round;
    r.index += uint64_t(at.index());
    const bool flat = layouts[1].flat();
    char* target = flat && !stream ? at.base[1] : b.result;
    convert(from, stored, to, target, n, r);
    if (stream)
      stream_kernel().write(at.base[1], b.result, n * to.itemsize());
    else if (!flat)
      layouts[1].scatter(at.base[1], b.result, n);
  });
}

}  // namespace dyadic::inline v1
