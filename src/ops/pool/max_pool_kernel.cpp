#include "ops/pool/max_pool_kernel.h"

#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kGrain = 16384;  // elements

bool is_double(Source x) { return x.format->def->compute == Compute::f64; }
int64_t slot(const MaxPoolShape& s, int64_t size) { return ((s.elements() + s.windows()) * size + 63) / 64 * 64; }
int64_t corner_bytes(const MaxPoolShape& s) { return (s.windows() * 8 + 63) / 64 * 64; }
int64_t workspace(const MaxPoolShape& s, Source x) { return corner_bytes(s) + num_threads() * slot(s, is_double(x) ? 8 : 4); }

constexpr int64_t kRow = 64;  // windows side by side that are worked on together

// One tap of n windows: element `row` plus the tap's place in each. A window that the tap is beyond reads its last tap again.
template <class T>
DY_INLINE void take_tap(const T* x, int64_t row, const int64_t* begin, const int64_t* count, int64_t tap, int64_t step,
                        int64_t n, T* best, int64_t* place) {
  for (int64_t w = 0; w < n; w++) {
    const int64_t at = row + begin[w] + (tap < count[w] ? tap : count[w] - 1) * step;
    const T value = x[at];
    const bool better = value > best[w] || value != value;
    best[w] = better ? value : best[w];
    place[w] = better ? at : place[w];
  }
}

// The windows [first, first + n) of one row of results.
template <class T>
void row_of_windows(const MaxPoolShape& s, const T* x, int64_t d, int64_t h, int64_t first, int64_t n, T* best,
                    int64_t* place) {
  const int64_t *begin = s.begin[2] + first, *count = s.count[2] + first;
  int64_t taps = 0;
  for (int64_t w = 0; w < n; w++) {
    best[w] = static_cast<T>(-kInf);
    place[w] = (s.begin[0][d] * s.in[1] + s.begin[1][h]) * s.in[2] + begin[w];
    taps = max_of(taps, count[w]);
  }
  for (int64_t i = 0, u = s.begin[0][d]; i < s.count[0][d]; i++, u += s.step[0]) {
    for (int64_t j = 0, v = s.begin[1][h]; j < s.count[1][h]; j++, v += s.step[1]) {
      for (int64_t k = 0; k < taps; k++) take_tap(x, (u * s.in[1] + v) * s.in[2], begin, count, k, s.step[2], n, best, place);
    }
  }
}

template <class T> void windows_by_row(const MaxPoolShape& s, const T* x, T* best, int64_t* place) {
  int64_t o = 0;
  for (int64_t d = 0; d < s.out[0]; d++) {
    for (int64_t h = 0; h < s.out[1]; h++) {
      for (int64_t w = 0; w < s.out[2]; w += kRow) {
        const int64_t width = min_of(kRow, s.out[2] - w);
        row_of_windows(s, x, d, h, w, width, best + o, place + o);
        o += width;
      }
    }
  }
}

// Whether all windows have as many elements along each axis (and places fit into 32 bits).
bool uniform(const MaxPoolShape& s) {
  for (int d = 0; d < 3; d++) {
    for (int64_t i = 1; i < s.out[d]; i++) {
      if (s.count[d][i] != s.count[d][0]) return false;
    }
  }
  return s.windows() > 0 && s.elements() < int64_t(1) << 31;
}
void find_corners(const MaxPoolShape& s, int64_t* corner) {
  for (int64_t d = 0; d < s.out[0]; d++) {
    for (int64_t h = 0; h < s.out[1]; h++) {
      for (int64_t w = 0; w < s.out[2]; w++) *corner++ = (s.begin[0][d] * s.in[1] + s.begin[1][h]) * s.in[2] + s.begin[2][w];
    }
  }
}
// Uniform windows differ in their corner alone: one tap of kRow of them at a time, gathered. (A branch per window would cost
// 6 ns on random values.)
template <class T>
void uniform_windows(const MaxPoolShape& s, const T* x, const int64_t* corner, int64_t n, T* best, int64_t* place) {
  constexpr hn::ScalableTag<T> d;
  constexpr hn::RebindToSigned<decltype(d)> di;
  using Index = hn::TFromD<decltype(di)>;
  constexpr int64_t L = hn::MaxLanes(d);
  alignas(64) Index from[kRow], at[kRow];
  alignas(64) T largest_so_far[kRow];
  for (int64_t w = 0; w < (n + L - 1) / L * L; w++) {
    from[w] = at[w] = static_cast<Index>(corner[w < n ? w : 0]);
    largest_so_far[w] = x[from[w]];
  }
  for (int64_t i = 0; i < s.count[0][0]; i++) {
    for (int64_t j = 0; j < s.count[1][0]; j++) {
      for (int64_t k = 0; k < s.count[2][0]; k++) {
        const auto tap = hn::Set(di, static_cast<Index>((i * s.step[0] * s.in[1] + j * s.step[1]) * s.in[2] + k * s.step[2]));
        for (int64_t w = 0; w < n; w += L) {
          const auto here = hn::Add(hn::Load(di, from + w), tap);
          const auto value = hn::GatherIndex(d, x, here), before = hn::Load(d, largest_so_far + w);
          const auto better = hn::Or(hn::Gt(value, before), hn::IsNaN(value));
          hn::Store(hn::IfThenElse(better, value, before), d, largest_so_far + w);
          hn::Store(hn::IfThenElse(hn::RebindMask(di, better), here, hn::Load(di, at + w)), di, at + w);
        }
      }
    }
  }
  for (int64_t w = 0; w < n; w++) {
    best[w] = largest_so_far[w];
    place[w] = at[w];
  }
}
template <class T> void windows_by_tap(const MaxPoolShape& s, const T* x, const int64_t* corner, T* best, int64_t* place) {
  for (int64_t w = 0, n = s.windows(); w < n; w += kRow)
    uniform_windows(s, x, corner + w, min_of(kRow, n - w), best + w, place + w);
}

template <class T> void forward_as(const MaxPoolShape& s, Source x, Target y, int64_t* place, void* memory) {
  const int64_t n = s.elements(), windows = s.windows();
  auto* corner = static_cast<int64_t*>(memory);
  const bool by_tap = uniform(s);
  if (by_tap) find_corners(s, corner);
  char* slots = static_cast<char*>(memory) + corner_bytes(s);
  parallel_for(s.planes, max_of(1, kGrain / max_of(n, 1)), [&](int64_t begin, int64_t end) {
    T* buffer = reinterpret_cast<T*>(slots + thread_index() * slot(s, sizeof(T)));
    for (int64_t plane = begin; plane < end; plane++) {
      const T* from = read_tile(x, plane * n, n, buffer);
      T* to = open_tile(y, plane * windows, buffer + n);
      by_tap ? windows_by_tap(s, from, corner, to, place + plane * windows)
             : windows_by_row(s, from, to, place + plane * windows);
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
