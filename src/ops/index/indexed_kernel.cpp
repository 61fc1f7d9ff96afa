#include "ops/index/indexed_kernel.h"

#include "loops/lanes.h"
#include "ops/index/combining.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kGrain = 16384;  // elements a thread takes at least
constexpr int64_t kLanePiece = 512;

struct Wide {
  uint64_t part[2];
};

// The part of a loop that one call of a body does: its first elements, places and lanes.
struct Piece {
  int64_t indexed = 0, plain = 0, index = 0, places = 0, lanes = 0;
};

// Cuts a loop where it may be cut: between outer entries, between lanes, for reads between places too.
template <class Body> void for_pieces(const IndexedLoop& l, bool reads, Body&& body) {
  int64_t outer = 1;
  for (int d = 0; d < l.ndim; d++) outer *= l.size[d];
  if (outer == 0 || l.places == 0 || l.lanes == 0) return;
  const int64_t row = max_of(1, kGrain / min_of(l.lanes, kGrain));
  const int64_t place_piece = reads ? min_of(l.places, row) : l.places;
  const int64_t lane_piece = outer >= 64 ? l.lanes : min_of(l.lanes, reads ? kGrain : kLanePiece);
  const int64_t place_pieces = (l.places + place_piece - 1) / place_piece,
                lane_pieces = (l.lanes + lane_piece - 1) / lane_piece;
  const int64_t grain = max_of(1, kGrain / max_of(1, place_piece * lane_piece));
  parallel_for(outer * place_pieces * lane_pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; u++) {
      int64_t rest = u;
      const int64_t lane = rest % lane_pieces * lane_piece;
      rest /= lane_pieces;
      const int64_t place = rest % place_pieces * place_piece;
      rest /= place_pieces;
      Piece p;
      p.places = min_of(place_piece, l.places - place);
      p.lanes = min_of(lane_piece, l.lanes - lane);
      p.indexed = lane * l.indexed.lane;
      p.plain = lane * l.plain.lane + place * l.plain.place;
      p.index = lane * l.index.lane + place * l.index.place;
      for (int d = l.ndim - 1; d >= 0; d--) {
        const int64_t i = rest % l.size[d];
        rest /= l.size[d];
        p.indexed += i * l.indexed.outer[d];
        p.plain += i * l.plain.outer[d];
        p.index += i * l.index.outer[d];
      }
      body(p);
    }
  });
}

// Calls f(indexed element, plain element) for every element of a piece, places in order. Offsets are relative to the operands.
template <class F> DY_INLINE void for_elements(const IndexedLoop& l, const Piece& p, F&& f) {
  const int64_t* index = l.positions + p.index;
  if (p.lanes == 1) {
    for (int64_t j = 0; j < p.places; j++)
      f(p.indexed + index[j * l.index.place] * l.indexed.place, p.plain + j * l.plain.place);
    return;
  }
  for (int64_t j = 0; j < p.places; j++) {
    const int64_t* at = index + j * l.index.place;
    const int64_t to = p.plain + j * l.plain.place;
    if (l.index.lane == 0) {
      const int64_t from = p.indexed + *at * l.indexed.place;
      if (l.indexed.lane == 1 && l.plain.lane == 1) {
        for (int64_t k = 0; k < p.lanes; k++) f(from + k, to + k);
      } else {
        for (int64_t k = 0; k < p.lanes; k++) f(from + k * l.indexed.lane, to + k * l.plain.lane);
      }
    } else {
      for (int64_t k = 0; k < p.lanes; k++)
        f(p.indexed + at[k * l.index.lane] * l.indexed.place + k * l.indexed.lane, to + k * l.plain.lane);
    }
  }
}

bool whole_rows(const IndexedLoop& l) { return l.lanes > 1 && l.index.lane == 0 && l.indexed.lane == 1 && l.plain.lane == 1; }

// Rows that lie densely in both operands: to(row of the indexed, row of the plain, lanes).
template <class F> void for_rows(const IndexedLoop& l, const Piece& p, F&& f) {
  const int64_t* index = l.positions + p.index;
  for (int64_t j = 0; j < p.places; j++) f(p.indexed + index[j * l.index.place] * l.indexed.place, p.plain + j * l.plain.place);
}

// Whether a piece's positions are all in [0, size).
bool inside(const IndexedLoop& l, const Piece& p, int64_t size) {
  const int64_t* index = l.positions + p.index;
  const int64_t lanes = l.index.lane == 0 ? 1 : p.lanes;
  const bool dense = lanes == 1 ? l.index.place == 1 : l.index.lane == 1 && l.index.place == lanes;
  const int64_t rows = dense ? 1 : p.places, width = dense ? p.places * lanes : lanes, step = dense ? 1 : l.index.lane;
  uint64_t bad = 0;
  for (int64_t j = 0; j < rows; j++) {
    const int64_t* row = index + j * l.index.place;
    if (step == 1) {
      for (int64_t k = 0; k < width; k++) bad |= uint64_t(uint64_t(row[k]) >= uint64_t(size));
    } else {
      for (int64_t k = 0; k < width; k++) bad |= uint64_t(uint64_t(row[k * step]) >= uint64_t(size));
    }
  }
  return bad == 0;
}

template <class T> bool read_as(const IndexedLoop& l, const void* indexed, void* plain, int64_t size) {
  const T* __restrict from = static_cast<const T*>(indexed);
  T* __restrict to = static_cast<T*>(plain);
  bool good = true;
  for_pieces(l, true, [&](const Piece& p) {
    if (size != kAnyPosition && !inside(l, p, size)) return __atomic_store_n(&good, false, __ATOMIC_RELAXED);
    if (whole_rows(l))
      for_rows(l, p, [&](int64_t i, int64_t o) { __builtin_memcpy(to + o, from + i, size_t(p.lanes) * sizeof(T)); });
    else
      for_elements(l, p, [&](int64_t i, int64_t o) { to[o] = from[i]; });
  });
  return good;
}
template <class T> void write_as(const IndexedLoop& l, void* indexed, const void* plain) {
  const T* __restrict from = static_cast<const T*>(plain);
  T* __restrict to = static_cast<T*>(indexed);
  for_pieces(l, false, [&](const Piece& p) {
    if (whole_rows(l))
      for_rows(l, p, [&](int64_t i, int64_t o) { __builtin_memcpy(to + i, from + o, size_t(p.lanes) * sizeof(T)); });
    else
      for_elements(l, p, [&](int64_t i, int64_t o) { to[i] = from[o]; });
  });
}

bool read(const IndexedLoop& l, const void* indexed, void* plain, int64_t width, int64_t size) {
  switch (width) {
    case 1:
      return read_as<uint8_t>(l, indexed, plain, size);
    case 2:
      return read_as<uint16_t>(l, indexed, plain, size);
    case 4:
      return read_as<uint32_t>(l, indexed, plain, size);
    case 8:
      return read_as<uint64_t>(l, indexed, plain, size);
    default:
      return read_as<Wide>(l, indexed, plain, size);
  }
}
void write(const IndexedLoop& l, void* indexed, const void* plain, int64_t width) {
  switch (width) {
    case 1:
      return write_as<uint8_t>(l, indexed, plain);
    case 2:
      return write_as<uint16_t>(l, indexed, plain);
    case 4:
      return write_as<uint32_t>(l, indexed, plain);
    case 8:
      return write_as<uint64_t>(l, indexed, plain);
    default:
      return write_as<Wide>(l, indexed, plain);
  }
}

template <class T, template <class> class F> void combine_as(const IndexedLoop& l, void* indexed, const void* plain) {
  const T* __restrict from = static_cast<const T*>(plain);
  T* __restrict to = static_cast<T*>(indexed);
  for_pieces(l, false, [&](const Piece& p) {
    if (whole_rows(l))
      for_rows(l, p, [&](int64_t i, int64_t o) {
        T* __restrict row = to + i;
        const T* __restrict terms = from + o;
        for (int64_t k = 0; k < p.lanes; k++) row[k] = F<T>::of(row[k], terms[k]);
      });
    else
      for_elements(l, p, [&](int64_t i, int64_t o) { to[i] = F<T>::of(to[i], from[o]); });
  });
}
template <class T> void combine_type(const IndexedLoop& l, IndexedOp op, void* indexed, const void* plain) {
  with_function(op, [&]<template <class> class F>(Function<F>) { combine_as<T, F>(l, indexed, plain); });
}
void combine(const IndexedLoop& l, IndexedOp op, Compute compute, void* indexed, const void* plain) {
  with_type(compute, [&]<class T>(Type<T>) { combine_type<T>(l, op, indexed, plain); });
}

int64_t first_outside(const int64_t* positions, int64_t n, int64_t low, int64_t high) {
  bool outside = false;
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    uint64_t bad = 0;
    for (int64_t i = begin; i < end; i++) bad |= uint64_t(uint64_t(positions[i]) - uint64_t(low) >= uint64_t(high - low));
    if (bad) __atomic_store_n(&outside, true, __ATOMIC_RELAXED);
  });
  for (int64_t i = 0; outside && i < n; i++)
    if (positions[i] < low || positions[i] >= high) return i;
  return -1;
}

}  // namespace

extern const IndexedKernel indexed_kernel = {read, write, combine, first_outside};

}  // namespace dyadic::DY_ISA
