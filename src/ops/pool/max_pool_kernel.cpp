#include "ops/pool/max_pool_kernel.h"

#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kGrain = 16384;  // elements

bool is_double(Source x) { return x.format->def->compute == Compute::f64; }
int64_t slot(const MaxPoolShape& s, int64_t size) { return ((s.elements() + s.windows()) * size + 63) / 64 * 64; }
int64_t workspace(const MaxPoolShape& s, Source x) { return num_threads() * slot(s, is_double(x) ? 8 : 4); }

template <class T> struct Best {
  T value;
  int64_t place;
};
template <class T> DY_INLINE Best<T> window(const MaxPoolShape& s, const T* x, int64_t d, int64_t h, int64_t w) {
  Best<T> best{static_cast<T>(-kInf), -1};
  for (int64_t i = 0, u = s.begin[0][d]; i < s.count[0][d]; i++, u += s.step[0]) {
    for (int64_t j = 0, v = s.begin[1][h]; j < s.count[1][h]; j++, v += s.step[1]) {
      int64_t at = (u * s.in[1] + v) * s.in[2] + s.begin[2][w];
      for (int64_t k = 0; k < s.count[2][w]; k++, at += s.step[2]) {
        const T value = x[at];
        if (value > best.value || value != value || best.place < 0) best = {value, at};
      }
    }
  }
  return best;
}

template <class T> void forward_as(const MaxPoolShape& s, Source x, Target y, int64_t* place, void* memory) {
  const int64_t n = s.elements(), windows = s.windows();
  parallel_for(s.planes, max_of(1, kGrain / max_of(n, 1)), [&](int64_t begin, int64_t end) {
    T* buffer = reinterpret_cast<T*>(static_cast<char*>(memory) + thread_index() * slot(s, sizeof(T)));
    for (int64_t plane = begin; plane < end; plane++) {
      const T* from = read_tile(x, plane * n, n, buffer);
      T* to = open_tile(y, plane * windows, buffer + n);
      int64_t *at = place + plane * windows, o = 0;
      for (int64_t d = 0; d < s.out[0]; d++) {
        for (int64_t h = 0; h < s.out[1]; h++) {
          for (int64_t w = 0; w < s.out[2]; w++, o++) {
            const Best<T> best = window(s, from, d, h, w);
            to[o] = best.value;
            at[o] = best.place;
          }
        }
      }
      close_tile(y, plane * windows, windows, to);
    }
  });
}

template <class T> void backward_as(const MaxPoolShape& s, Source dy, const int64_t* place, Target dx, void* memory) {
  const int64_t n = s.elements(), windows = s.windows();
  parallel_for(s.planes, max_of(1, kGrain / max_of(n, 1)), [&](int64_t begin, int64_t end) {
    T* buffer = reinterpret_cast<T*>(static_cast<char*>(memory) + thread_index() * slot(s, sizeof(T)));
    for (int64_t plane = begin; plane < end; plane++) {
      const T* from = read_tile(dy, plane * windows, windows, buffer + n);
      T* to = open_tile(dx, plane * n, buffer);
      for (int64_t i = 0; i < n; i++) to[i] = 0;
      for (int64_t i = 0; i < windows; i++) to[place[plane * windows + i]] += from[i];
      close_tile(dx, plane * n, n, to);
    }
  });
}

void forward(const MaxPoolShape& s, Source x, Target y, int64_t* place, void* memory) {
  is_double(x) ? forward_as<double>(s, x, y, place, memory) : forward_as<float>(s, x, y, place, memory);
}
int64_t backward(const MaxPoolShape& s, Source dy, const int64_t* place, Target dx, void* memory) {
  const auto n = static_cast<uint64_t>(s.elements());
  for (int64_t i = 0; i < s.planes * s.windows(); i++) {
    if (static_cast<uint64_t>(place[i]) >= n) return i;
  }
  is_double(dy) ? backward_as<double>(s, dy, place, dx, memory) : backward_as<float>(s, dy, place, dx, memory);
  return -1;
}

}  // namespace

extern const MaxPoolKernel max_pool_kernel = {workspace, forward, backward};

}  // namespace dyadic::DY_ISA
