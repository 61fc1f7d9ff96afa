// Places that an index names, for ops that write or add where several may be the same: the order in which they come decides, so
// that the last of several writes wins and sums have one order, whatever ran first.
#pragma once
#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/radix.h"

namespace dyadic::gpu {

inline constexpr uint32_t kNoPlace = ~0u;  // the key of what is out of range: nothing happens there

// The places of one index. keys[p] and offsets[p] become the number of what place p names, and the element of the target where
// it begins: those of `base`, and the index times key_step and step. Further indices of the same places are added.
struct PlaceIndex {
  Space<3> space;  // the index, the base's element, the base's key
  int64_t size, step, key_step;
  bool wraps;  // negative ones count from the end
  bool adds;
  void run(const void* index, uint32_t* keys, int64_t* offsets) const;
};

// Bytes of workspace, and where they lie. keys: how many are told apart, below 2^32 - 1.
struct PlaceRoom {
  int64_t places = 0, keys = 0;
  int64_t offsets_at = 0, keys_at = 0, more_at = 0, bytes = 0;

  int64_t* offsets(const Pointers& at) const {
    return reinterpret_cast<int64_t*>(static_cast<char*>(at.workspace) + offsets_at);
  }
  uint32_t* key(const Pointers& at) const { return reinterpret_cast<uint32_t*>(static_cast<char*>(at.workspace) + keys_at); }
  uint32_t* more(const Pointers& at) const { return reinterpret_cast<uint32_t*>(static_cast<char*>(at.workspace) + more_at); }
};
// Of writes: `more` holds for each key the last place that names it, counted from 1.
PlaceRoom room_for_writes(const char* op, int64_t places, int64_t keys);
void find_last(const PlaceRoom& room, const Pointers& at);
// Of sums: the places by their keys, those of one key in order.
struct SortedPlaces {
  const uint32_t *keys, *order;
};
PlaceRoom room_for_sums(const char* op, int64_t places, int64_t keys);
SortedPlaces sort_places(const PlaceRoom& room, const Pointers& at);

PlaceRoom room_for_reads(int64_t places);  // offsets and keys alone

// Which dimensions advanced indices stand for, and where their places go in the result (the rules have been checked).
struct IndexedPlaces {
  int indices = 0;
  uint32_t mask = 0;  // of the dimensions
  int64_t dim[kMaxDims];
  int ndim = 0;  // the indices, broadcast
  int64_t sizes[kMaxDims];
  int place = 0;  // the first of their dimensions in the result
  int64_t count() const {
    int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= sizes[d];
    return n;
  }
  int64_t keys(const Operand& target) const {  // how many elements of the target's indexed dimensions there are
    int64_t n = 1;
    for (int k = 0; k < indices; ++k) n *= target.lengths[dim[k]];
    return n;
  }
  void write(const Operand& target, TensorList given, PlaceIndex* index) const;  // `indices` of them
  // The result's dimensions in order: f(size, the target's step or 0, the result's step, the places' dimension or -1, its
  // step).
  template <class F> void walk(const Operand& target, const Operand& plain, F f) const {
    int at = 0;
    const auto places = [&] {
      int64_t step = count();
      for (int d = 0; d < ndim; ++d, ++at) step /= sizes[d] ? sizes[d] : 1, f(sizes[d], int64_t{0}, plain.steps[at], d, step);
    };
    for (int d = 0; d < target.ndim; ++d) {
      if (mask >> d & 1) continue;
      if (at == place) places();
      f(target.lengths[d], target.steps[d], plain.steps[at], -1, int64_t{0});
      ++at;
    }
    if (at == place) places();
  }
};
IndexedPlaces indexed_places(const Operand& self, TensorList indices, const Arg& dims);

// x[i] becomes the sum of those before it, x[n] of all.
void sum_all_before(uint32_t* x, int64_t n);

}  // namespace dyadic::gpu
