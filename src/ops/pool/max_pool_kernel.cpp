#include "ops/pool/max_pool_kernel.h"

#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kGrain = 16384;  // elements

constexpr int64_t kWide = 64;  // so many windows side by side fill vectors on their own

template <class T> using Index = hn::TFromD<hn::RebindToSigned<hn::ScalableTag<T>>>;
template <class T> constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());

bool is_double(Source x) { return x.format->def->compute == Compute::f64; }
int64_t slot(const MaxPoolShape& s, int64_t size) { return ((s.elements() + s.windows()) * size + 63) / 64 * 64; }

// Windows that are worked on together, a vector of them at a time: those of one row if it is wide, else of a whole slice of two
// axes. (Windows of 7 x 7 would leave half of 16 lanes idle.)
struct Group {
  int64_t rows, windows, entries;  // entries: windows in whole vectors
  Group(const MaxPoolShape& s)
      : rows(s.out[2] >= kWide ? 1 : s.out[1]), windows(rows * s.out[2]), entries((windows + 15) / 16 * 16) {}
};
// For a tap of an axis where in its slice each window of a group has it: `row` for the middle axis (groups of several rows),
// `column` for the last. A window that the tap is beyond has its last tap again.
template <class I> struct Taps {
  I *row, *column;
  Taps(const MaxPoolShape& s, const Group& g, void* memory)
      : row(static_cast<I*>(memory)), column(row + (g.rows > 1 ? s.taps[1] * g.entries : 0)) {}
  static int64_t bytes(const MaxPoolShape& s, const Group& g) {
    return ((s.taps[1] + s.taps[2]) * g.entries * int64_t(sizeof(I)) + 63) / 64 * 64;
  }
  void fill(const MaxPoolShape& s, const Group& g) {
    for (int64_t w = 0; w < g.entries; w++) {
      const int64_t at = min_of(w, g.windows - 1), h = at / s.out[2], v = at % s.out[2];
      for (int64_t j = 0; j < s.taps[1] && g.rows > 1; j++)
        row[j * g.entries + w] = I((s.begin[1][h] + min_of(j, s.count[1][h] - 1) * s.step[1]) * s.in[2]);
      for (int64_t k = 0; k < s.taps[2]; k++)
        column[k * g.entries + w] = I(s.begin[2][v] + min_of(k, s.count[2][v] - 1) * s.step[2]);
    }
  }
};
// Vectors are for more windows than half of one; their places are numbers as wide as the elements.
template <class T> bool in_vectors(const MaxPoolShape& s) {
  return s.windows() > kLanes<T> / 2 && (sizeof(T) == 8 || s.elements() < int64_t(1) << 31);
}
int64_t table_bytes(const MaxPoolShape& s, Source x) {
  const Group g(s);
  return is_double(x) ? Taps<Index<double>>::bytes(s, g) : Taps<Index<float>>::bytes(s, g);
}
int64_t workspace(const MaxPoolShape& s, Source x) { return table_bytes(s, x) + num_threads() * slot(s, is_double(x) ? 8 : 4); }

// A group's windows, beginning at slice d, row h of the results.
template <class T>
void windows_of_group(const MaxPoolShape& s, const Group& g, const Taps<Index<T>>& taps, const T* x, int64_t d, int64_t h,
                      T* best, int64_t* place) {
  constexpr hn::ScalableTag<T> dt;
  constexpr hn::RebindToSigned<decltype(dt)> di;
  using I = Index<T>;
  constexpr int64_t L = kLanes<T>;
  const bool one_row = g.rows == 1;
  const int64_t rows = one_row ? s.count[1][h] : s.taps[1];
  for (int64_t w = 0; w < g.windows; w += L) {
    auto largest = hn::Set(dt, T(-kInf));
    auto at = hn::Zero(di);
    bool first = true;
    for (int64_t i = 0; i < s.count[0][d]; i++) {
      const int64_t slice = (s.begin[0][d] + i * s.step[0]) * s.in[1] * s.in[2];
      for (int64_t j = 0; j < rows; j++) {
        const auto row = one_row ? hn::Set(di, I(slice + (s.begin[1][h] + j * s.step[1]) * s.in[2]))
                                 : hn::Add(hn::Set(di, I(slice)), hn::LoadU(di, taps.row + j * g.entries + w));
        for (int64_t k = 0; k < s.taps[2]; k++) {
          const auto here = hn::Add(row, hn::LoadU(di, taps.column + k * g.entries + w));
          const auto value = hn::GatherIndex(dt, x, here);
          if (first) at = here, first = false;
          const auto better = hn::Or(hn::Gt(value, largest), hn::IsNaN(value));
          largest = hn::IfThenElse(better, value, largest);
          at = hn::IfThenElse(hn::RebindMask(di, better), here, at);
        }
      }
    }
    alignas(64) T values[L];
    alignas(64) I places[L];
    hn::Store(largest, dt, values);
    hn::Store(at, di, places);
    const int64_t n = min_of(L, g.windows - w);
    for (int64_t l = 0; l < n; l++) best[w + l] = values[l], place[w + l] = places[l];
  }
}
template <class T>
void windows_by_group(const MaxPoolShape& s, const Taps<Index<T>>& taps, const T* x, T* best, int64_t* place) {
  const Group g(s);
  for (int64_t d = 0; d < s.out[0]; d++) {
    for (int64_t h = 0; h < s.out[1]; h += g.rows, best += g.windows, place += g.windows)
      windows_of_group(s, g, taps, x, d, h, best, place);
  }
}

template <class T> void windows_one_by_one(const MaxPoolShape& s, const T* x, T* best, int64_t* place) {
  const int64_t plane = s.out[1] * s.out[2];
  for (int64_t o = 0; o < s.windows(); o++) {
    const int64_t d = o / plane, h = o / s.out[2] % s.out[1], w = o % s.out[2];
    best[o] = T(-kInf);
    place[o] = (s.begin[0][d] * s.in[1] + s.begin[1][h]) * s.in[2] + s.begin[2][w];
    for (int64_t i = 0; i < s.count[0][d]; i++) {
      for (int64_t j = 0; j < s.count[1][h]; j++) {
        const int64_t u = s.begin[0][d] + i * s.step[0], v = s.begin[1][h] + j * s.step[1];
        int64_t at = (u * s.in[1] + v) * s.in[2] + s.begin[2][w];
        for (int64_t k = 0; k < s.count[2][w]; k++, at += s.step[2])
          if (x[at] > best[o] || x[at] != x[at]) best[o] = x[at], place[o] = at;
      }
    }
  }
}

template <class T> void forward_as(const MaxPoolShape& s, Source x, Target y, int64_t* place, void* memory) {
  const int64_t n = s.elements(), windows = s.windows();
  const bool vectors = in_vectors<T>(s);
  Taps<Index<T>> taps(s, s, memory);
  if (vectors) taps.fill(s, s);
  char* slots = static_cast<char*>(memory) + table_bytes(s, x);
  parallel_for(s.planes, max_of(1, kGrain / max_of(n, 1)), [&](int64_t begin, int64_t end) {
    T* buffer = reinterpret_cast<T*>(slots + thread_index() * slot(s, sizeof(T)));
    for (int64_t plane = begin; plane < end; plane++) {
      const T* from = read_tile(x, plane * n, n, buffer);
      T* to = open_tile(y, plane * windows, buffer + n);
      vectors ? windows_by_group(s, taps, from, to, place + plane * windows)
              : windows_one_by_one(s, from, to, place + plane * windows);
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
