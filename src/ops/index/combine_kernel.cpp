#include "ops/index/combine_kernel.h"

#include "loops/lanes.h"
#include "ops/index/combining.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kGrain = 16384;  // elements a thread takes at least
constexpr int64_t kTileLanes = 1024;

// Whether elements are stored in their compute type.
bool computed(const Format* f) { return f->def->bits == 8 * compute_size(f->def->compute); }
template <class T> const T* decoded(Source x, int64_t at, int64_t n, T* buffer) {
  if (computed(x.format)) return static_cast<const T*>(x.data) + at;
  x.format->def->decode(element(x, at), buffer, n);
  return buffer;
}

int64_t slot(const CombineRows& r, int64_t size) { return ((r.size + r.places) * size + 63) / 64 * 64; }
int64_t workspace(const CombineRows& r, Source self) {
  return computed(self.format) ? 0 : num_threads() * slot(r, compute_size(self.format->def->compute));
}

template <class T, template <class> class F>
void rows_as(const CombineRows& r, Source self, Source plain, Target out, const void* first, void* workspace) {
  const bool direct = computed(self.format);
  parallel_for(r.count, max_of(1, kGrain / max_of(1, r.size + r.places)), [&](int64_t begin, int64_t end) {
    T* buffer = reinterpret_cast<T*>(static_cast<char*>(workspace) + (direct ? 0 : thread_index() * slot(r, sizeof(T))));
    for (int64_t i = begin; i < end; i++) {
      T* row = direct ? static_cast<T*>(out.data) + i * r.size : buffer;
      const T* from = decoded(self, i * r.size, r.size, row);
      if (from != row) __builtin_memcpy(row, from, size_t(r.size) * sizeof(T));
      const T* terms = decoded(plain, i * r.plain_stride, r.places, direct ? nullptr : buffer + r.size);
      const int64_t* index = r.index + i * r.places;
      if (first)
        for (int64_t j = 0; j < r.places; j++) row[index[j]] = *static_cast<const T*>(first);
      for (int64_t j = 0; j < r.places; j++) row[index[j]] = F<T>::of(row[index[j]], terms[j]);
      if (!direct) out.format->def->encode(row, element(out, i * r.size), r.size, Round{});
    }
  });
}

template <class T> void add_targets_as(const CombineTargets& c, Source self, Source plain, Target out) {
  const int64_t tiles = (c.lanes + kTileLanes - 1) / kTileLanes, lanes = min_of(c.lanes, kTileLanes);
  const bool direct = computed(self.format), in_place = self.data == out.data;
  parallel_for(c.count * c.targets * tiles, max_of(1, kGrain / lanes), [&](int64_t begin, int64_t end) {
    alignas(64) T sum[kTileLanes], term[kTileLanes];
    for (int64_t u = begin; u < end; u++) {
      const int64_t row = u / tiles, slice = row / c.targets, t = row % c.targets, lane = u % tiles * kTileLanes;
      const int64_t n = min_of(kTileLanes, c.lanes - lane), at = row * c.lanes + lane;
      if (c.start[t] == c.start[t + 1]) {
        if (!in_place) __builtin_memcpy(element(out, at), element(self, at), size_t(n) * size_t(out.format->def->bits / 8));
        continue;
      }
      const T* from = decoded(self, at, n, sum);
      T* to = direct ? static_cast<T*>(out.data) + at : sum;
      for (int64_t k = c.start[t]; k < c.start[t + 1]; k++, from = to) {
        const T* terms = decoded(plain, (slice * c.places + c.order[k]) * c.lanes + lane, n, term);
        for (int64_t l = 0; l < n; l++) to[l] = Sum<T>::of(from[l], terms[l]);
      }
      if (!direct) out.format->def->encode(to, element(out, at), n, Round{});
    }
  });
}

template <class T>
void rows_of_type(const CombineRows& r, IndexedOp op, Source self, Source plain, Target out, const void* first,
                  void* workspace) {
  with_function(op, [&]<template <class> class F>(Function<F>) { rows_as<T, F>(r, self, plain, out, first, workspace); });
}
void rows(const CombineRows& r, IndexedOp op, Source self, Source plain, Target out, const void* first, void* workspace) {
  with_type(self.format->def->compute, [&]<class T>(Type<T>) { rows_of_type<T>(r, op, self, plain, out, first, workspace); });
}
void add_targets(const CombineTargets& c, Source self, Source plain, Target out) {
  with_type(self.format->def->compute, [&]<class T>(Type<T>) { add_targets_as<T>(c, self, plain, out); });
}

}  // namespace

extern const CombineKernel combine_kernel = {rows, workspace, add_targets};

}  // namespace dyadic::DY_ISA
