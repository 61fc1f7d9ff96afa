// Ops that read at places given by an index: gather, index_select, index.
#include <bit>

#include "plugins/cuda/copies/places.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256;

// Elements of the result, where they come from but for the index, and the index.
struct Reading {
  Space<3> space;      // the result, self, the index
  int64_t size, step;  // of self along the indexed dimension; size < 0: positions have been looked at
  int width;
  bool wraps;
};
template <class W>
__global__ void __launch_bounds__(kThreads)
    read_places(Reading p, const W* self, const int64_t* index, W* out, Failure* failed, int op) {
  for (int64_t i = first_thread(); i < p.space.count; i += all_threads()) {
    int64_t at[3];
    p.space.offsets(i, at);
    const int64_t given = index[at[2]], place = p.wraps && given < 0 ? given + p.size : given;
    if (p.size >= 0 && (place < 0 || place >= p.size)) {
      fail_index(failed, op, given, p.size);
      continue;
    }
    out[at[0]] = self[at[1] + place * p.step];
  }
}
// Lanes that lie densely on both sides are read by wider words.
void widen(Reading* p, const void* self, const void* out) {
  Space<3>& s = p->space;
  const int last = s.ndim - 1;
  if (last < 0 || s.stride[0][last] != 1 || s.stride[1][last] != 1 || s.stride[2][last] != 0) return;
  for (int wide = 16; wide > p->width; wide /= 2) {
    const int64_t n = wide / p->width;
    bool fits = is_aligned(self, wide) && is_aligned(out, wide) && s.inner() % n == 0 && p->step % n == 0;
    for (int d = 0; d < last; ++d) fits = fits && s.stride[0][d] % n == 0 && s.stride[1][d] % n == 0;
    if (!fits) continue;
    s.size[last].by /= n, p->step /= n, p->width = wide;
    for (int d = 0; d < last; ++d) s.stride[0][d] /= n, s.stride[1][d] /= n;
    s.finish();
    return;
  }
}
void read(Reading p, const void* self, const void* index, void* out) {
  if (p.space.count == 0) return;
  widen(&p, self, out);
  with_word(p.width, [&](auto word) {
    using W = decltype(word);
    launch(read_places<W>, grid_for(p.space.count, 1, kThreads), p, static_cast<const W*>(self),
           static_cast<const int64_t*>(index), static_cast<W*>(out), failures(), op_number());
  });
}

struct Read {
  Reading reading;
  int index;  // which of the call's tensors
};
void run_read(const Read& p, const Pointers& at) { read(p.reading, at.in[0], at.in[p.index], at.out[0]); }

int64_t wrapped(int64_t dim, int64_t n) { return dim < 0 ? dim + (n ? n : 1) : dim; }

// index_of(d): the index's step along dimension d.
template <class F> void plan_along(Call& c, int64_t dim, int index, F index_of) {
  const Operand self = c.operand(0), out = c.result();
  Read& p = c.plan.make<run_read, Read>();
  p = {{{}, self.ndim ? self.lengths[dim] : 1, self.ndim ? self.steps[dim] : 1, int(self.itemsize()), false}, index};
  Space<3>& s = p.reading.space;
  for (int d = 0; d < out.ndim; ++d) s.add(out.lengths[d], {out.steps[d], d == dim ? 0 : self.steps[d], index_of(d)});
  s.finish();
  if (out.count == 0) s.count = 0;
}
void plan_gather(Call& c) {
  namespace arg = ops::gather_op::arg;
  const Operand index = c.operand(arg::index);
  plan_along(c, wrapped(c[arg::dim], c.operand(arg::self).ndim), arg::index.tensor, [&](int d) { return index.steps[d]; });
}
void plan_index_select(Call& c) {
  namespace arg = ops::index_select_op::arg;
  const Operand index = c.operand(arg::index);
  const int64_t dim = wrapped(c[arg::dim], c.operand(arg::self).ndim), step = index.ndim ? index.steps[0] : 0;
  plan_along(c, dim, arg::index.tensor, [&](int d) { return d == dim ? step : 0; });
}

// index: one index is read as it lies; of several the places are written down first.
struct ReadMany {
  Reading reading;
  PlaceRoom room;
  int indices;
  const PlaceIndex* index;
};
void run_index(const ReadMany& p, const Pointers& at) {
  if (p.indices == 1) return read(p.reading, at.in[0], at.in[1], at.out[0]);
  for (int k = 0; k < p.indices; ++k) p.index[k].run(at.in[1 + k], p.room.key(at), p.room.offsets(at));
  read(p.reading, at.in[0], p.room.offsets(at), at.out[0]);
}
void plan_index(Call& c) {
  namespace arg = ops::index_op::arg;
  const Operand self = c.operand(arg::self), out = c.result();
  const IndexedPlaces d = indexed_places(self, c[arg::indices], c.arg(arg::dims));
  ReadMany& p = c.plan.make<run_index, ReadMany>();
  p.indices = d.indices;
  PlaceIndex* index = c.plan.list<PlaceIndex>(size_t(d.indices));
  d.write(self, c[arg::indices], index);
  p.index = index;
  p.room = {};
  p.reading = {{}, -1, 1, int(self.itemsize()), true};
  const bool one = d.indices == 1;
  if (one) p.reading.size = index[0].size, p.reading.step = index[0].step;
  if (!one) {
    p.room = room_for_reads(d.count());
    c.plan.workspace = p.room.bytes;
  }
  d.walk(self, out, [&](int64_t n, int64_t self_step, int64_t out_step, int place, int64_t place_step) {
    const int64_t index_step = place < 0 ? 0
                               : one     ? broadcast_step(Operand(*c[arg::indices][0].impl()), d.ndim, place)
                                         : place_step;
    p.reading.space.add(n, {out_step, self_step, index_step});
  });
  p.reading.space.finish();
  if (out.count == 0) p.reading.space.count = 0;
}

const Registered gather{"gather", {.plan = plan_gather, .dense = true}};
const Registered index_select{"index_select", {.plan = plan_index_select}};
const Registered index{"index", {.plan = plan_index}};

}  // namespace
}  // namespace dyadic::gpu
