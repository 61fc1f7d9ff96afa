// Ops that write or combine at places given by an index (places.h): the last of several writes wins, and what is combined is so
// in the order of the places, in the compute type, rounded once.
#include <cmath>
#include <limits>

#include "plugins/cuda/copies/places.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256;
int64_t wrapped(int64_t dim, int64_t n) { return dim < 0 ? dim + (n ? n : 1) : dim; }

// All elements: those of each place are `rest`, whose steps are the target's and the source's.
struct Elements {
  Space<2> rest;
  Space<1> source;  // the source's element of a place
  int64_t places;
  bool places_inside;  // neighbours are places, not elements of one
  int64_t count() const { return places * rest.count; }
  Divisor by;  // of an element's number: places, or what is inside
  __device__ __forceinline__ void split(int64_t i, int64_t* place, int64_t* inside) const {
    const int64_t quotient = by.divide(i), remainder = i - quotient * by.by;
    *place = places_inside ? remainder : quotient;
    *inside = places_inside ? quotient : remainder;
  }
  void finish() {
    rest.finish(), source.finish();
    by = Divisor(places_inside ? places : rest.count);
  }
};

template <class W, bool kFills>
__global__ void __launch_bounds__(kThreads) write_places(Elements e, const uint32_t* keys, const int64_t* offsets,
                                                         const uint32_t* last, const W* source, W value, W* target) {
  const int64_t n = e.places * e.rest.count;
  for (int64_t i = first_thread(); i < n; i += all_threads()) {
    int64_t place, inside, at[2], from[1];
    e.split(i, &place, &inside);
    const uint32_t key = keys[place];
    if (key == kNoPlace || (!kFills && last[key] != uint32_t(place + 1))) continue;
    e.rest.offsets(inside, at);
    if constexpr (kFills) {
      target[offsets[place] + at[0]] = value;
    } else {
      e.source.offsets(place, from);
      target[offsets[place] + at[0]] = source[from[0] + at[1]];
    }
  }
}

enum class How : uint8_t { sum, prod, mean, amax, amin };
template <class T> __device__ __forceinline__ T combined(How how, T a, T b) {
  switch (how) {
    case How::prod:
      return a * b;
    case How::amax:
      return a != a || a > b ? a : b;
    case How::amin:
      return a != a || a < b ? a : b;
    default:
      return a + b;
  }
}
template <class T> __device__ __forceinline__ T divided(T x, int64_t n) {
  if (n <= 1) return x;
  if constexpr (std::is_floating_point_v<T>)
    return x / T(n);
  else
    return x / T(n) - T(x % T(n) < 0);  // rounds down
}
template <> __device__ __forceinline__ uint64_t divided(uint64_t x, int64_t n) { return n <= 1 ? x : x / uint64_t(n); }

struct Combining {
  Elements e;
  Code code, source;
  How how;
  bool include_self;
  int64_t none[1];  // the bits of what a target begins with that does not count itself
};
template <class T>
__global__ void __launch_bounds__(kThreads)
    combine_places(Combining p, SortedPlaces sorted, const int64_t* offsets, const void* source, void* target) {
  const Elements& e = p.e;
  const int64_t n = e.places * e.rest.count;
  T none;
  __builtin_memcpy(&none, p.none, sizeof(T));
  for (int64_t i = first_thread(); i < n; i += all_threads()) {
    int64_t s, inside, at[2];
    e.split(i, &s, &inside);
    const uint32_t key = sorted.keys[s];
    if (key == kNoPlace || (s > 0 && sorted.keys[s - 1] == key)) continue;
    e.rest.offsets(inside, at);
    const int64_t to = offsets[sorted.order[s]] + at[0];
    T sum = p.include_self ? load<T>(p.code, target, to) : none;
    int64_t terms = p.include_self ? 1 : 0;
    for (; s < e.places && sorted.keys[s] == key; ++s, ++terms) {
      int64_t from[1];
      e.source.offsets(sorted.order[s], from);
      sum = combined(p.how, sum, load<T>(p.source, source, from[0] + at[1]));
    }
    store(p.code, target, to, p.how == How::mean ? divided(sum, terms) : sum);
  }
}

// What all these ops do: self is copied, places are named, then written.
struct Target {
  Transfer copy;
  PlaceRoom room;
  int first, indices;  // the call's tensors
  const PlaceIndex* index;
  void name(const Pointers& at) const {
    if (at.in[0] != at.out[0]) copy.run(at.out[0], at.in[0]);
    for (int k = 0; k < indices; ++k) index[k].run(at.in[first + k], room.key(at), room.offsets(at));
  }
};
struct Writing {
  Target target;
  Elements e;
  int source, width;  // source < 0: the value
  alignas(16) unsigned char value[16];
};
void run_writing(const Writing& p, const Pointers& at) {
  p.target.name(at);
  if (p.e.count() == 0) return;
  const bool fills = p.source < 0;
  if (!fills) find_last(p.target.room, at);
  const uint32_t *keys = p.target.room.key(at), *last = p.target.room.more(at);
  const int64_t* offsets = p.target.room.offsets(at);
  with_word(p.width, [&](auto word) {
    using W = decltype(word);
    W value;
    __builtin_memcpy(&value, p.value, sizeof(W));
    const Grid grid = grid_for(p.e.count(), 1, kThreads);
    const auto* from = static_cast<const W*>(fills ? nullptr : at.in[p.source]);
    if (fills)
      launch(write_places<W, true>, grid, p.e, keys, offsets, last, from, value, static_cast<W*>(at.out[0]));
    else
      launch(write_places<W, false>, grid, p.e, keys, offsets, last, from, value, static_cast<W*>(at.out[0]));
  });
}
struct Summing {
  Target target;
  Combining combining;
  int source;
};
void run_summing(const Summing& p, const Pointers& at) {
  p.target.name(at);
  if (p.combining.e.count() == 0) return;
  const SortedPlaces sorted = sort_places(p.target.room, at);
  with_value(p.combining.code, [&](auto value) {
    using T = decltype(value);
    if constexpr (!is_parts<T>)
      launch(combine_places<T>, grid_for(p.combining.e.count(), 1, kThreads), p.combining, sorted, p.target.room.offsets(at),
             at.in[p.source], at.out[0]);
  });
}

// Along one dimension: of an index with the source's dimensions (scatter), or of one for all (index_copy).
struct Along {
  Operand out, self, index, source;
  int64_t dim;
  bool by_element;

  Along(const Call& c, TensorArg index_arg, int64_t d, bool each)
      : out(c.result()), self(c.operand(0)), index(c.operand(index_arg)), dim(wrapped(d, out.ndim)), by_element(each) {}
  int64_t size() const { return out.ndim ? out.lengths[dim] : 1; }
  int64_t step() const { return out.ndim ? out.steps[dim] : 0; }
  int64_t keys() const { return by_element ? out.count : size(); }
  int64_t source_step(int64_t d) const { return source.format && d < source.ndim ? source.steps[d] : 0; }

  Target target(Call& c, TensorArg index_arg, const PlaceRoom& room) const {
    PlaceIndex* list = c.plan.list<PlaceIndex>(1);
    int64_t key_steps[kMaxDims], all = 1;
    for (int d = out.ndim - 1; d >= 0; --d) key_steps[d] = all, all *= out.lengths[d];
    list[0] = PlaceIndex{{}, size(), step(), by_element && out.ndim ? key_steps[dim] : 1, false, false};
    for (int d = 0; d < index.ndim; ++d) {
      const bool other = by_element && d != dim;
      list[0].space.add(index.lengths[d], {index.steps[d], other ? out.steps[d] : 0, other ? key_steps[d] : 0});
    }
    list[0].space.finish();
    if (index.count == 0) list[0].space.count = 0;
    c.plan.workspace = room.bytes;
    return {plan_transfer(out, self), room, index_arg.tensor, 1, list};
  }
  Elements elements() const {
    Elements e{{}, {}, index.count, false, {}};
    for (int d = 0; by_element && d < index.ndim; ++d) e.source.add(index.lengths[d], {source_step(d)});
    if (!by_element) e.source.add(index.count, {source_step(dim)});
    for (int d = 0; !by_element && d < out.ndim; ++d)
      if (d != dim) e.rest.add(out.lengths[d], {out.steps[d], source_step(d)});
    e.rest.finish();
    e.places_inside = e.rest.count == 1 || (!by_element && dim == out.ndim - 1);
    if (out.count == 0) e.places = 0;
    e.finish();
    return e;
  }
};
void plan_write(Call& c, Along a, TensorArg index, const TensorArg* source, const Scalar* value) {
  if (source) a.source = c.operand(*source);
  Writing& p = c.plan.make<run_writing, Writing>();
  p.target = a.target(c, index, room_for_writes(c.name, a.index.count, a.keys()));
  p.e = a.elements();
  p.source = source ? source->tensor : -1;
  p.width = int(a.out.itemsize());
  if (value) encode_number(*value, a.out.format, p.value);
}
// With what a target begins that does not count itself.
int64_t none_of(How how, const Format* f) {
  const FormatDef& d = *f->def;
  const bool real = d.kind == Kind::floating, whole = d.kind == Kind::sint, least = how == How::amax;
  const double infinity = std::numeric_limits<double>::infinity();
  int64_t bits = 0;
  if (how == How::sum || how == How::mean) return 0;
  with_value(code_of(f), [&](auto value) {
    using T = decltype(value);
    if constexpr (!is_parts<T>) {
      T none = T(1);
      if (how != How::prod && real) none = number<T>(least ? -infinity : infinity);
      if (how != How::prod && !real) {
        const int64_t most = d.kind == Kind::boolean ? 1 : int64_t(~uint64_t{0} >> (64 - d.bits + (whole ? 1 : 0)));
        none = T(!least ? most : whole ? -most - 1 : 0);
      }
      __builtin_memcpy(&bits, &none, sizeof(T));
    }
  });
  return bits;
}
void plan_sum(Call& c, Along a, TensorArg index, TensorArg source, How how = How::sum, bool include_self = true) {
  a.source = c.operand(source);
  Summing& p = c.plan.make<run_summing, Summing>();
  p.target = a.target(c, index, room_for_sums(c.name, a.index.count, a.keys()));
  p.combining = {a.elements(), code_of(a.out.format), code_of(a.source.format),
                 how,          include_self,          {none_of(how, a.out.format)}};
  p.source = source.tensor;
}

void plan_scatter(Call& c) {
  namespace arg = ops::scatter_op::arg;
  plan_write(c, Along(c, arg::index, c[arg::dim], true), arg::index, &arg::src, nullptr);
}
void plan_scatter_value(Call& c) {
  namespace arg = ops::scatter_value_op::arg;
  const Scalar value = c[arg::value];
  plan_write(c, Along(c, arg::index, c[arg::dim], true), arg::index, nullptr, &value);
}
void plan_index_copy(Call& c) {
  namespace arg = ops::index_copy_op::arg;
  plan_write(c, Along(c, arg::index, c[arg::dim], false), arg::index, &arg::source, nullptr);
}
void plan_index_fill(Call& c) {
  namespace arg = ops::index_fill_op::arg;
  const Scalar value = c[arg::value];
  plan_write(c, Along(c, arg::index, c[arg::dim], false), arg::index, nullptr, &value);
}
void plan_index_sum(Call& c) {
  namespace arg = ops::index_sum_op::arg;
  plan_sum(c, Along(c, arg::index, c[arg::dim], false), arg::index, arg::source);
}
void plan_scatter_add(Call& c) {
  namespace arg = ops::scatter_add_op::arg;
  plan_sum(c, Along(c, arg::index, c[arg::dim], true), arg::index, arg::src);
}
void plan_scatter_reduce(Call& c) {
  namespace arg = ops::scatter_reduce_op::arg;
  constexpr std::string_view names[] = {"sum", "prod", "mean", "amax", "amin"};
  int how = 0;
  while (names[how] != c[arg::reduce]) ++how;
  plan_sum(c, Along(c, arg::index, c[arg::dim], true), arg::index, arg::src, How(how), c[arg::include_self]);
}

// index_write: values, broadcast, at advanced indices.
void plan_index_write(Call& c) {
  namespace arg = ops::index_write_op::arg;
  const Operand out = c.result(), values = c.operand(arg::values);
  const IndexedPlaces d = indexed_places(out, c[arg::indices], c.arg(arg::dims));
  const bool sums = c[arg::accumulate];
  const PlaceRoom room = sums ? room_for_sums(c.name, d.count(), d.keys(out)) : room_for_writes(c.name, d.count(), d.keys(out));
  PlaceIndex* list = c.plan.list<PlaceIndex>(size_t(d.indices));
  d.write(out, c[arg::indices], list);
  c.plan.workspace = room.bytes;
  const Target target{plan_transfer(out, c.operand(arg::self)), room, 2, d.indices, list};

  Operand all = out;  // values in the shape of what they are written to
  all.ndim = out.ndim - d.indices + d.ndim;
  for (int k = 0; k < all.ndim; ++k) all.steps[k] = broadcast_step(values, all.ndim, k);
  Elements e{{}, {}, d.count(), false, {}};
  d.walk(out, all, [&](int64_t n, int64_t out_step, int64_t value_step, int place, int64_t) {
    if (place < 0)
      e.rest.add(n, {out_step, value_step});
    else
      e.source.add(n, {value_step});
  });
  e.rest.finish();
  e.places_inside = e.rest.count == 1;
  if (out.count == 0) e.places = 0;
  e.finish();
  if (sums) {
    c.plan.set<run_summing>(
        Summing{target, {e, code_of(out.format), code_of(values.format), How::sum, true, {0}}, arg::values.tensor});
    return;
  }
  c.plan.set<run_writing>(Writing{target, e, arg::values.tensor, int(out.itemsize()), {}});
}

const Registered scatter{"scatter", {.plan = plan_scatter, .dense = true}};
const Registered scatter_value{"scatter_value", {.plan = plan_scatter_value, .dense = true}};
const Registered index_copy{"index_copy", {.plan = plan_index_copy, .dense = true}};
const Registered index_fill{"index_fill", {.plan = plan_index_fill, .dense = true}};
const Registered index_sum{"index_sum", {.plan = plan_index_sum, .dense = true}};
const Registered scatter_add{"scatter_add", {.plan = plan_scatter_add, .dense = true}};
const Registered scatter_reduce{"scatter_reduce", {.plan = plan_scatter_reduce, .dense = true}};
const Registered index_write{"index_write", {.plan = plan_index_write}};

}  // namespace
}  // namespace dyadic::gpu
