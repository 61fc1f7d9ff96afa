#include "loops/pointwise.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "loops/elements.h"
#include "loops/layout.h"
#include "loops/stream_kernel.h"
#include "loops/strided_copy_kernel.h"

namespace dyadic::inline v1 {

using namespace tiles;

namespace {

constexpr int64_t kGrain = 32 << 10;  // elements a thread takes at least

// Runs body(Walk, State) on all tiles, State being a thread's own. stream: they were streamed.
template <class State, class Body>
void for_tiles(const Space& s, const Cut& cut, char* const* base, bool stream, const Body& body) {
  parallel_for(Walk::tiles(s, cut), std::max<int64_t>(1, kGrain / (cut.rows * cut.inside)), [&](int64_t begin, int64_t end) {
    State state;
    Walk at(s, cut, base, begin);
    for (int64_t t = begin;;) {
      body(at, state);
      if (++t == end) break;
      at.next();
    }
    if (stream) stream_kernel().flush();
  });
}

// Small results of dense operands of their compute type, and of single elements: one tile, without the search for a way through
// strides that costs more than it.
constexpr int64_t kSmall = 128;
bool is_small(const PointwisePlan& p, const Form* const* in, const Form& out) {
  if (p.numel > kSmall || !p.direct || !out.dense) return false;
  for (int i = 0; i < p.inputs; ++i)
    if (in[i] && in[i]->numel != 1 && !(in[i]->numel == p.numel && in[i]->dense && stored_as(*in[i]->format, p.compute)))
      return false;
  return true;
}
void run_small(const PointwisePlan& p, char* const* in, void* out) {
  alignas(64) char tiles[kMaxOperands][kSmall * 16];
  const void* pointers[kMaxOperands];
  for (int i = 0; i < p.inputs; ++i) {
    pointers[i] = in[i];
    if (!in[i] || !p.formats[i] || (p.numel == 1 && stored_as(*p.formats[i], p.compute)) || !(p.singles >> i & 1)) continue;
    splat(*p.formats[i], in[i], p.compute, tiles[i], p.numel);
    pointers[i] = tiles[i];
  }
  p.tile(pointers, out, p.params, p.numel, 0);
}

// Integers of one dtype narrower than the lanes: as words, as they lie. A bool of any byte but 0 counts as 1.
void run_bits(const PointwisePlan& p, char* const* base) {
  constexpr int64_t kBytes = 4096;
  const Space& s = p.space;
  const int64_t bytes = s.size[0] * s.op[0].size;
  const bool truth = s.op[0].format == boolean.format();
  parallel_for((bytes + kBytes - 1) / kBytes, kGrain / kBytes, [&](int64_t begin, int64_t end) {
    alignas(64) uint8_t buffer[kMaxOperands + 1][kBytes];
    const void* in[kMaxOperands];
    for (int64_t at = begin * kBytes; at < std::min(bytes, end * kBytes); at += kBytes) {
      const int64_t n = std::min(kBytes, bytes - at);
      for (int k = 0; k < p.inputs; ++k) {
        in[k] = base[k] + at;
        if (n == kBytes && !truth) continue;
        in[k] = std::memcpy(buffer[k], in[k], size_t(n));
        if (!truth) continue;
        for (int64_t i = 0; i < kBytes; ++i) buffer[k][i] = buffer[k][i] != 0;
      }
      char* out = base[p.inputs] + at;
      p.tile(in, n == kBytes ? out : static_cast<void*>(buffer[p.inputs]), p.params, (n + 3) / 4, 0);
      if (n < kBytes) std::memcpy(out, buffer[p.inputs], size_t(n));
    }
  });
}

// How the tiles of one call are read, computed and written.
struct PointwiseRun {
  const PointwisePlan& p;
  const Space& s;
  char* const* const base;
  const int o;  // the result among the operands
  const Format& target;
  const Compute leaves;
  const Format* const lies;  // the format that `tile` reads and writes as it is stored; null: it is of the compute type
  const Tile tile;
  const int64_t step;  // elements it works on at once
  const bool stream;
  const bool
      in_tile;  // vectors are streamed as they are computed, so that reading, computing and writing overlap; else a tile is
  const int64_t most;  // elements of a tile
  const Cut cut;
  Layout layouts[kMaxOperands + 1];
  alignas(64) char constants[kMaxOperands][kTileBytes];  // the single elements, which all tiles share

  PointwiseRun(const PointwisePlan& plan, char* const* bases)
      : p(plan),
        s(plan.space),
        base(bases),
        o(plan.inputs),
        target(*plan.formats[plan.inputs]),
        leaves(p.real_out ? real_of(p.compute) : p.compute),
        lies(stored_format(p, p.direct, p.formats, p.singles, p.inputs)),
        tile(lies ? stored_tile(p, lies) : p.tile),
        step(lies == bf16.format() ? kBf16Step : 1),
        stream(s.streams(o, base)),
        in_tile(stream && !p.mask_out && streams_vectors() && reinterpret_cast<uintptr_t>(base[o]) % 64 == 0),
        most(kTileBytes / widest()),
        cut(s.cut(most)) {
    for (int k = 0; k <= o; ++k)
      if (s.op[k].format && !single(k)) layouts[k].plan(s, cut, k);
    for (int i = 0; i < p.inputs; ++i)
      if (single(i)) splat(*p.formats[i], base[i], p.compute, constants[i], takes_one() ? 1 : std::min(most, p.numel));
  }
  bool narrow() const { return lies && lies != bf16.format(); }
  bool takes_one() const { return narrow() || (!lies && p.takes_one); }
  int64_t widest() const {  // bytes of an element in any buffer
    if (narrow()) return lies->itemsize();
    int64_t bytes = compute_size(p.compute);
    for (int k = 0; k <= o; ++k)
      if (s.op[k].format && !(k < o && single(k)))
        bytes = std::max({bytes, s.op[k].size, compute_size(s.op[k].format->compute())});
    return bytes;
  }
  bool single(int i) const { return p.singles >> i & 1; }
  bool streams_vectors() const {
    if (lies) return lies == bf16.format();
    return p.direct && (p.compute == Compute::f32 || p.compute == Compute::f64);
  }
  struct Buffers {
    alignas(64) char tiles[kMaxOperands][kTileBytes];
    alignas(64) char gathered[kTileBytes];
    alignas(64) char result[kTileBytes];
    alignas(64) char other[kTileBytes];
    const char* from[kMaxOperands] = {};  // what was gathered into `tiles`, and how many elements
    int64_t n[kMaxOperands];

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
    if (!p.formats[i]) return nullptr;
    const Format& f = *s.op[i].format;
    if (single(i)) {
      one = takes_one();
      return constants[i];
    }
    const Layout& layout = layouts[i];
    const char* stored = at.base[i];
    if (layout.single()) {
      one = takes_one();
      if (one && stored_as(f, p.compute)) return stored;
      const int64_t n = one ? 1 : at.n;
      if (!b.holds(i, stored, n)) splat(f, stored, p.compute, b.tiles[i], n);
      return b.tiles[i];
    }
    wide = &f != lies;
    if (!layout.flat()) {
      if (b.holds(i, stored, at.n)) return b.tiles[i];
      char* row = wide && !stored_as(f, p.compute) ? b.gathered : b.tiles[i];
      layout.gather(row, stored, at.n);
      stored = row;
    }
    const void* read = wide ? load(f, stored, p.compute, b.tiles[i], b.other, at.n) : stored;
    if (at.n % step == 0 || read == b.tiles[i]) return read;
    return std::memcpy(b.tiles[i], read, size_t(at.n * (wide ? compute_size(p.compute) : f.itemsize())));
  }
  void operator()(const Walk& at, Buffers& b) const {
    const int64_t n = at.n;
    const void* pointers[kMaxOperands];
    unsigned mode = 0;
    for (int i = 0; i < p.inputs; ++i) {
      bool wide, one;
      pointers[i] = operand(i, at, b, wide, one);
      if ((lies ? wide : one) && p.formats[i]) mode |= kWide << i;
    }
    char* dense = layouts[o].flat() ? at.base[o] : nullptr;
    const bool in_place = dense && n % step == 0 && (!stream || in_tile);
    if (in_place && in_tile) mode |= kStream;
    char* stored = in_place ? dense : p.direct || lies ? b.result : b.gathered;
    if (p.direct || lies) {
      tile(pointers, stored, p.params, (n + step - 1) / step * step, mode);
    } else {
      tile(pointers, b.result, p.params, n, mode);
      store(target, b.result, leaves, p.mask_out, stored, b.other, n);
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

void PointwisePlan::place(const Form* const* in, int count, const Form& out) {
  inputs = count;
  numel = out.numel;
  direct = mask_out ? out.format == boolean.format() : stored_as(*out.format, real_out ? real_of(compute) : compute);
  for (int i = 0; i < inputs; ++i) {
    given[i] = in[i] ? in[i]->format : nullptr;
    formats[i] = rounded[i] ? rounded[i] : given[i];
    singles |= uint8_t(in[i] && in[i]->numel == 1) << i;
  }
  formats[inputs] = out.format;
  small = is_small(*this, in, out);
  if (small || numel == 0) return;
  for (int i = 0; i < inputs; ++i) {
    if (!in[i]) {
      space.skip();
      continue;
    }
    space.add(*in[i], out);
    if (rounded[i]) space.op[i].format = rounded[i], space.op[i].size = rounded[i]->itemsize();
  }
  space.add(out, out);
  space.coalesce(out);
}

void PointwisePlan::run(const void* const* in, void* out) const {
  if (numel == 0) return;
  char* base[kMaxOperands + 1];
  alignas(16) char numbers[kMaxOperands][16];
  for (int i = 0; i < inputs; ++i) {
    base[i] = static_cast<char*>(const_cast<void*>(in[i]));
    if (!rounded[i]) continue;
    convert(*given[i], in[i], *rounded[i], numbers[i], 1);
    base[i] = numbers[i];
  }
  base[inputs] = static_cast<char*>(out);
  if (small) return run_small(*this, base, out);
  if (bits && space.alike()) return run_bits(*this, base);
  const PointwiseRun run(*this, base);
  for_tiles<PointwiseRun::Buffers>(space, run.cut, base, run.stream, run);
}

void copy_elements(const Form& dst, void* to_data, const Form& src, const void* from_data, const Round& round) {
  if (dst.numel == 0) return;
  Space s;
  s.add(src, dst);
  s.add(dst, dst);
  s.coalesce(dst);
  char* const base[] = {static_cast<char*>(const_cast<void*>(from_data)), static_cast<char*>(to_data)};
  const Format &from = *s.op[0].format, &to = *s.op[1].format;
  if (&from == &to) {  // moving, not computing: transposes in blocks
    int64_t strides[2][kMaxDims];
    for (int k = 0; k < 2; ++k)
      for (int d = 0; d < s.ndim; ++d) strides[k][d] = s.op[k].stride[d] / s.op[k].size;
    strided_copy_kernel().copy(base[1], strides[1], base[0], strides[0], s.size, s.ndim, s.op[0].size);
    return;
  }
  const bool stream = s.streams(1, base);
  const Cut cut = s.cut(s.tile());
  Layout layouts[2];
  for (int k = 0; k < 2; ++k) layouts[k].plan(s, cut, k);
  struct Buffers {
    alignas(64) char gathered[kTileBytes];
    alignas(64) char result[kTileBytes];
  };
  for_tiles<Buffers>(s, cut, base, stream, [&](const Walk& at, Buffers& b) {
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
