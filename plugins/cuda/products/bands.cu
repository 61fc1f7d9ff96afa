#include "plugins/cuda/products/bands.h"

#include <algorithm>

namespace dyadic::gpu {
namespace {

constexpr int64_t kEven = 8;                      // elements of 16 bytes
constexpr int64_t kLeastWork = int64_t{1} << 32;  // multiply-adds: below, copies are too much of it
constexpr int64_t kBandBytes = int64_t{64} << 20, kLeastLines = 256;
constexpr int64_t kWantedTiles = 128 * 128 * 256;  // elements of a band's result that keep a card busy

int64_t even(int64_t n) { return (n + kEven - 1) / kEven * kEven; }
bool is_even(int64_t lead) { return lead % kEven == 0; }
bool along_k(const GemmSide& s) { return s.steps.k == 1; }
bool is_plain(const GemmSide& s) { return s.steps.k == 1 || s.steps.line == 1; }
int64_t lead_of(const GemmSide& s) { return along_k(s) ? s.steps.line : s.steps.k; }

// Of two neighbouring words the eight numbers from kFirst on.
template <int kFirst> __device__ __forceinline__ Word16 shifted(const Word16& low, const Word16& high) {
  uint32_t all[8];
  DY_UNROLL for (int i = 0; i < 4; ++i) all[i] = low.part[i], all[4 + i] = high.part[i];
  Word16 r;
  DY_UNROLL for (int i = 0; i < 4; ++i) {
    const int at = i + kFirst / 2;
    r.part[i] = kFirst % 2 ? all[at] >> 16 | all[at + 1] << 16 : all[at];
  }
  return r;
}
__device__ __forceinline__ Word16 shifted(int first, const Word16& low, const Word16& high) {
  switch (first) {
    case 1:
      return shifted<1>(low, high);
    case 2:
      return shifted<2>(low, high);
    case 3:
      return shifted<3>(low, high);
    case 4:
      return shifted<4>(low, high);
    case 5:
      return shifted<5>(low, high);
    case 6:
      return shifted<6>(low, high);
    default:
      return shifted<7>(low, high);
  }
}

// Rows of n numbers from one place to another, by 16 bytes of the target: wherever both begin. A block has a part of a row.
// What is beyond n up to `wide`, and rows that the source has not, become zeros.
constexpr int kThreads = 256, kWords = 4;
struct Move {
  const uint16_t* from;
  uint16_t* to;
  int64_t from_lead, to_lead, rows, n, wide;
};
__global__ void __launch_bounds__(kThreads) move_rows(Move p) {
  const bool there = int64_t(blockIdx.x) < p.rows;
  const uint16_t* const source = p.from + (there ? int64_t(blockIdx.x) * p.from_lead : 0);
  uint16_t* const target = p.to + int64_t(blockIdx.x) * p.to_lead;
  const int64_t n = there ? p.n : 0, first = int64_t(blockIdx.y) * kThreads * kWords + threadIdx.x;
  for (int64_t i = n + first; i < p.wide; i += int64_t(gridDim.y) * kThreads * kWords) target[i] = 0;
  if (!there) return;
  const int head = int(-(reinterpret_cast<uintptr_t>(target) / 2) % 8);  // numbers before the first whole word
  const int64_t words = n > head ? (n - head) / 8 : 0;
  if (blockIdx.y == 0 && threadIdx.x < 8) {
    const int64_t i = threadIdx.x, last = head + 8 * words + i;
    if (i < head && i < n) target[i] = source[i];
    if (last < n) target[last] = source[last];
  }
  const int off = int((reinterpret_cast<uintptr_t>(source) / 2 + head) % 8);
  const auto* const in = reinterpret_cast<const Word16*>(source + head - off);
  auto* const out = reinterpret_cast<Word16*>(target + head);
  Word16 low[kWords], high[kWords];
  DY_UNROLL for (int k = 0; k < kWords; ++k) {
    const int64_t w = first + k * kThreads;
    if (w >= words) break;
    low[k] = in[w];
    if (off) high[k] = in[w + 1];
  }
  DY_UNROLL for (int k = 0; k < kWords; ++k) {
    const int64_t w = first + k * kThreads;
    if (w >= words) break;
    out[w] = off ? shifted(off, low[k], high[k]) : low[k];
  }
}
// rows_to, wide: of the target.
void move(const void* from, int64_t from_lead, int64_t rows, int64_t n, void* to, int64_t to_lead, int64_t rows_to,
          int64_t wide) {
  const int64_t across = (n / 8 + kThreads * kWords) / (kThreads * kWords);
  launch(move_rows, Grid{.blocks = rows_to, .threads = kThreads, .y = int(across)},
         Move{static_cast<const uint16_t*>(from), static_cast<uint16_t*>(to), from_lead, to_lead, rows, n, wide});
}

}  // namespace

// Lengths matter where neighbours lie along them: k of a side that has them so, the lines of one that has not, n of the result.
Bands::Bands(const Gemm& g) {
  const ProductShape& s = g.shape;
  const Code own = own_code(g.math);
  if ((g.math != Math::bf16 && g.math != Math::f16) || g.a.code != own || g.b.code != own || g.out != own) return;
  if (g.swapped || s.batch != 1 || g.column != 1 || s.m * s.n < kLeastWork / std::max<int64_t>(s.k, 1)) return;
  if (!is_plain(g.a) || !is_plain(g.b) || std::max(s.m, std::max(s.n, s.k)) > INT32_MAX / 2) return;
  const bool odd_k = !is_even(s.k) && (along_k(g.a) || along_k(g.b)), odd_m = !is_even(s.m) && !along_k(g.a),
             odd_n = !is_even(s.n);
  const bool a = odd_k || odd_m || !is_even(lead_of(g.a)), b = odd_k || odd_n || !is_even(lead_of(g.b));
  copies_result_ = odd_m || odd_n || !is_even(g.row);
  if (!a && !b && !copies_result_) return;
  whole_ = g;
  m_ = odd_m ? even(s.m) : s.m, n_ = odd_n ? even(s.n) : s.n, k_ = odd_k ? even(s.k) : s.k;
  // The other side is copied as a whole, if at all: the smaller one.
  of_ = (a ? s.m * s.k : 0) < (b ? s.n * s.k : 0) ? Of::b : Of::a;
  copies_banded_ = of_ == Of::a ? a : b, copies_other_ = of_ == Of::a ? b : a;
  lines_ = of_ == Of::a ? s.m : s.n;
  const int64_t line = (copies_banded_ ? 2 * k_ : 0) + (copies_result_ ? 2 * (of_ == Of::a ? n_ : m_) : 0);
  const int64_t across = of_ == Of::a ? n_ : m_, wanted = kWantedTiles / std::max<int64_t>(across, 1);
  const int64_t most = std::max({kLeastLines, kBandBytes / line, std::min(wanted, 3 * kBandBytes / line)});
  const int64_t bands = (lines_ + most - 1) / most;
  each_ = ((lines_ + bands - 1) / bands + kLeastLines - 1) / kLeastLines * kLeastLines;
}

int64_t Bands::lead_of_copy(const GemmSide& s, int64_t lines) const { return along_k(s) ? even(k_) : even(lines); }
int64_t Bands::bytes_of_copy(const GemmSide& s, int64_t lines) const {
  return padded(2 * lead_of_copy(s, lines) * (along_k(s) ? even(lines) : k_));
}
int64_t Bands::lead_of_result(int64_t lines) const { return of_ == Of::a ? even(n_) : even(lines); }
int64_t Bands::bytes_of_result(int64_t lines) const {
  return padded(2 * lead_of_result(lines) * (of_ == Of::a ? even(lines) : m_));
}
void Bands::copy(const GemmSide& s, const void* from, int64_t lines, void* to) const {
  const int64_t k = whole_.shape.k, lead = lead_of_copy(s, lines);
  if (along_k(s))
    move(from, lead_of(s), lines, k, to, lead, even(lines), lead);
  else
    move(from, lead_of(s), k, lines, to, lead, k_, lead);
}
void Bands::copy_result(const void* from, int64_t lines, void* to) const {
  const int64_t rows = of_ == Of::a ? lines : whole_.shape.m, n = of_ == Of::a ? whole_.shape.n : lines;
  move(from, lead_of_result(lines), rows, n, to, whole_.row, rows, n);
}

Gemm Bands::band(int64_t lines) const {
  Gemm g = whole_;
  g.shape.m = of_ == Of::b ? m_ : copies_banded_ && copies_result_ ? even(lines) : lines;
  g.shape.n = of_ == Of::a ? n_ : copies_banded_ && copies_result_ ? even(lines) : lines;
  g.shape.k = k_;
  const auto copied = [&](GemmSide& s, int64_t n) { (along_k(s) ? s.steps.line : s.steps.k) = lead_of_copy(s, n); };
  if (copies_banded_) copied(of_ == Of::a ? g.a : g.b, lines);
  if (copies_other_) copied(of_ == Of::a ? g.b : g.a, other_lines());
  if (copies_result_) g.row = lead_of_result(lines);
  return g;
}
GemmPointers Bands::pointers(const GemmPointers& at, int64_t band) const {
  GemmPointers p = at;
  const int64_t first = band * each_, result = of_ == Of::a ? first * whole_.row : first;
  const void*& side = of_ == Of::a ? p.a : p.b;
  side = static_cast<const char*>(side) + 2 * first * banded().steps.line;
  p.c = static_cast<char*>(p.c) + 2 * result;
  if (of_ == Of::b && p.bias) p.bias = static_cast<const char*>(p.bias) + 2 * first * whole_.bias_step;
  return p;
}

}  // namespace dyadic::gpu
