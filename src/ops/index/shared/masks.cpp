// Masks: counting, and moving what they select. Work is cut into a fixed number of pieces whose counts give every piece its
// place.
#include <bit>
#include <cstring>

#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops {
namespace {

constexpr int64_t kPieces = 64, kLeast = 1 << 14;  // elements of a piece

struct Cut {
  int64_t n, pieces, size, before[kPieces + 1];
  int64_t begin(int64_t k) const { return std::min(n, k * size); }
};

int64_t count(const uint8_t* m, int64_t n) {
  int64_t sum = 0, i = 0;
  for (; i + 64 <= n; i += 64) {
    uint8_t part = 0;
    for (int j = 0; j < 64; ++j) part = uint8_t(part + (m[i + j] != 0));
    sum += part;
  }
  for (; i < n; ++i) sum += m[i] != 0;
  return sum;
}

Cut cut(const uint8_t* m, int64_t n) {
  Cut c{n, std::clamp<int64_t>(n / kLeast, 1, kPieces), 0, {}};
  c.size = (n + c.pieces - 1) / c.pieces;
  parallel_for(c.pieces, 1, [&](int64_t from, int64_t to) {
    for (int64_t k = from; k < to; ++k) c.before[k + 1] = count(m + c.begin(k), c.begin(k + 1) - c.begin(k));
  });
  for (int64_t k = 0; k < c.pieces; ++k) c.before[k + 1] += c.before[k];
  return c;
}

// f(i) for every i in [begin, end) with m[i] != 0.
template <class F> void for_true(const uint8_t* m, int64_t begin, int64_t end, F&& f) {
  int64_t i = begin;
  for (; i + 8 <= end; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, m + i, 8);
    if (!eight) continue;
    // A bool made by view() or read from a file may hold any byte: its top bit becomes "is not 0" before the eight are
    // gathered.
    constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7fu;
    const uint64_t set = ((((eight & kLow) + kLow) | eight) & ~kLow) >> 7;
    for (uint64_t bits = (set * 0x0102040810204080u) >> 56; bits; bits &= bits - 1) f(i + std::countr_zero(bits));
  }
  for (; i < end; ++i)
    if (m[i]) f(i);
}

template <class T> void move_as(const uint8_t* m, const Cut& c, void* to, const void* from, bool out_of_all) {
  T* out = static_cast<T*>(to);
  const T* in = static_cast<const T*>(from);
  parallel_for(c.pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      int64_t at = c.before[k];
      if (out_of_all)
        for_true(m, c.begin(k), c.begin(k + 1), [&](int64_t i) { out[at++] = in[i]; });
      else
        for_true(m, c.begin(k), c.begin(k + 1), [&](int64_t i) { out[i] = in[at++]; });
    }
  });
}

// The coordinates of elements in row-major order, asked for in rising order.
class Coordinates {
  IntList sizes_;
  int64_t row_ = 0, width_, at_[kMaxDims] = {};

 public:
  Coordinates(IntList sizes, int64_t start) : sizes_(sizes), width_(sizes.empty() ? 1 : sizes[sizes.size() - 1]) {
    int64_t rest = start / std::max<int64_t>(width_, 1);
    row_ = rest * width_;
    for (auto d = int64_t(sizes.size()) - 2; d >= 0; --d) at_[d] = rest % sizes[size_t(d)], rest /= sizes[size_t(d)];
  }
  void write(int64_t i, int64_t* out) {
    while (i >= row_ + width_) {
      row_ += width_;
      for (auto d = int64_t(sizes_.size()) - 2; d >= 0 && ++at_[d] == sizes_[size_t(d)]; --d) at_[d] = 0;
    }
    const auto n = int64_t(sizes_.size());
    for (int64_t d = 0; d + 1 < n; ++d) out[d] = at_[d];
    if (n) out[n - 1] = i - row_;
  }
};

}  // namespace

int64_t count_true(const void* mask, int64_t n) {
  if (n == 0) return 0;
  const Cut c = cut(static_cast<const uint8_t*>(mask), n);
  return c.before[c.pieces];
}

void move_masked(const void* mask, int64_t n, int64_t width, void* to, const void* from, bool out_of_all) {
  if (n == 0) return;
  const auto* m = static_cast<const uint8_t*>(mask);
  const Cut c = cut(m, n);
  struct Wide {
    uint64_t part[2];
  };
  switch (width) {
    case 1:
      return move_as<uint8_t>(m, c, to, from, out_of_all);
    case 2:
      return move_as<uint16_t>(m, c, to, from, out_of_all);
    case 4:
      return move_as<uint32_t>(m, c, to, from, out_of_all);
    case 8:
      return move_as<uint64_t>(m, c, to, from, out_of_all);
    default:
      return move_as<Wide>(m, c, to, from, out_of_all);
  }
}

int64_t write_nonzero(const void* mask, IntList sizes, int64_t limit, int64_t* out) {
  int64_t all = 1;
  for (int64_t s : sizes) all *= s;
  if (all == 0) return 0;
  const auto* m = static_cast<const uint8_t*>(mask);
  const Cut c = cut(m, all);
  const auto n = int64_t(sizes.size());
  parallel_for(c.pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      Coordinates where(sizes, c.begin(k));
      int64_t row = c.before[k];
      for_true(m, c.begin(k), c.begin(k + 1), [&](int64_t i) {
        if (row < limit) where.write(i, out + row * n);
        ++row;
      });
    }
  });
  return std::min(limit, c.before[c.pieces]);
}

}  // namespace dyadic::inline v1::ops
