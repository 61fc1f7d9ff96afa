#include "plugins/cuda/copies/places.h"

#include <bit>

#include "base/check.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    name_places(PlaceIndex p, const int64_t* index, uint32_t* keys, int64_t* offsets, Failure* failed, int op) {
  for (int64_t i = first_thread(); i < p.space.count; i += all_threads()) {
    int64_t at[3];
    p.space.offsets(i, at);
    const int64_t given = index[at[0]], place = p.wraps && given < 0 ? given + p.size : given;
    if (place < 0 || place >= p.size) {
      fail_index(failed, op, given, p.size);
      keys[i] = kNoPlace, offsets[i] = 0;
      continue;
    }
    const int64_t offset = at[1] + place * p.step;
    const auto key = uint32_t(at[2] + place * p.key_step);
    if (!p.adds)
      keys[i] = key, offsets[i] = offset;
    else if (keys[i] != kNoPlace)
      keys[i] += key, offsets[i] += offset;
  }
}

__global__ void __launch_bounds__(kThreads) clear_keys(uint32_t* x, int64_t n) {
  for (int64_t i = first_thread(); i < n; i += all_threads()) x[i] = 0;
}
__global__ void __launch_bounds__(kThreads) mark_last(const uint32_t* keys, unsigned* last, int64_t n) {
  for (int64_t i = first_thread(); i < n; i += all_threads())
    if (keys[i] != kNoPlace) atomicMax(last + keys[i], unsigned(i + 1));
}

__global__ void __launch_bounds__(kThreads) count_up(uint32_t* x, int64_t n) {
  for (int64_t i = first_thread(); i < n; i += all_threads()) x[i] = uint32_t(i);
}

PlaceRoom room_of(const char* op, int64_t places, int64_t keys) {
  DY_CHECK(places < kNoPlace && keys < kNoPlace, "{}: too many places for cuda: {} of {}; at most 4294967294", op, places,
           keys);
  PlaceRoom room{places, keys};
  room.keys_at = places * 8;
  room.more_at = (room.keys_at + places * 4 + 15) / 16 * 16;
  return room;
}

}  // namespace

void PlaceIndex::run(const void* index, uint32_t* keys, int64_t* offsets) const {
  if (space.count)
    launch(name_places, grid_for(space.count, 1, kThreads), *this, static_cast<const int64_t*>(index), keys, offsets,
           failures(), op_number());
}

PlaceRoom room_for_writes(const char* op, int64_t places, int64_t keys) {
  PlaceRoom room = room_of(op, places, keys);
  room.bytes = room.more_at + keys * 4;
  return room;
}
void find_last(const PlaceRoom& room, const Pointers& at) {
  if (room.places == 0) return;
  launch(clear_keys, grid_for(room.keys, 1, kThreads), room.more(at), room.keys);
  launch(mark_last, grid_for(room.places, 1, kThreads), room.key(at), room.more(at), room.places);
}

PlaceRoom room_for_sums(const char* op, int64_t places, int64_t keys) {
  PlaceRoom room = room_of(op, places, keys);
  room.bytes = room.more_at + 3 * places * 4 + radix_room(1, places);
  return room;
}
PlaceRoom room_for_reads(int64_t places) {
  PlaceRoom room = room_of("index", places, 0);
  room.bytes = room.more_at;
  return room;
}

IndexedPlaces indexed_places(const Operand& self, TensorList indices, const Arg& dims) {
  IndexedPlaces p;
  p.indices = int(indices.size());
  for (int k = 0; k < p.indices; ++k) {
    const int64_t d = dims.kind == Arg::Kind::ints ? dims.ints[k] : k;
    p.dim[k] = d < 0 ? d + self.ndim : d;
    p.mask |= 1u << p.dim[k];
    const Operand index(*indices[size_t(k)].impl());
    for (; p.ndim < index.ndim; ++p.ndim) {
      for (int i = p.ndim; i > 0; --i) p.sizes[i] = p.sizes[i - 1];
      p.sizes[0] = 1;
    }
    for (int i = 1; i <= index.ndim; ++i)
      if (index.lengths[index.ndim - i] != 1) p.sizes[p.ndim - i] = index.lengths[index.ndim - i];
  }
  const int first = std::countr_zero(p.mask);
  p.place = (((p.mask >> first) + 1) & (p.mask >> first)) == 0 ? first : 0;
  return p;
}
void IndexedPlaces::write(const Operand& target, TensorList given, PlaceIndex* index) const {
  int64_t key_step = 1;
  for (int k = indices - 1; k >= 0; --k) {
    const Operand o(*given[size_t(k)].impl());
    PlaceIndex& i = index[k];
    i = PlaceIndex{{}, target.lengths[dim[k]], target.steps[dim[k]], key_step, true, k > 0};
    for (int d = 0; d < ndim; ++d) i.space.add(sizes[d], {broadcast_step(o, ndim, d), 0, 0});
    i.space.finish();
    key_step *= i.size;
  }
}

SortedPlaces sort_places(const PlaceRoom& room, const Pointers& at) {
  const int64_t n = room.places;
  uint32_t *keys = room.key(at), *order = room.more(at), *others = order + n;
  int bits = 1;  // what is out of range comes last: as a key of all bits
  while (int64_t{1} << bits <= room.keys) ++bits;
  launch(count_up, grid_for(n, 1, kThreads), order, n);
  radix_sort(keys, order, others, others + n, 1, n, bits, others + 2 * n);
  return {keys, order};
}

void sum_all_before(uint32_t* x, int64_t n) { launch(radix_scan, Grid{1, kRadixThreads}, x, n, x + n); }

}  // namespace dyadic::gpu
