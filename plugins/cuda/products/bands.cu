#include "plugins/cuda/products/bands.h"

#include <algorithm>

namespace dyadic::gpu {
namespace {

constexpr int64_t kEven = 8;                      // elements of 16 bytes
constexpr int64_t kLeastWork = int64_t{1} << 32;  // multiply-adds: below, copies are too much of it
constexpr int64_t kBandBytes = int64_t{64} << 20, kLeastLines = 256;

int64_t even(int64_t n) { return (n + kEven - 1) / kEven * kEven; }
int64_t padded(int64_t bytes) { return (bytes + 255) / 256 * 256; }
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
constexpr int kThreads = 256, kWords = 4;
__global__ void __launch_bounds__(kThreads)
    move_rows(const uint16_t* from, int64_t from_lead, uint16_t* to, int64_t to_lead, int64_t n) {
  const uint16_t* const source = from + int64_t(blockIdx.x) * from_lead;
  uint16_t* const target = to + int64_t(blockIdx.x) * to_lead;
  const int head = int(-(reinterpret_cast<uintptr_t>(target) / 2) % 8);  // numbers before the first whole word
  const int64_t words = n > head ? (n - head) / 8 : 0, first = int64_t(blockIdx.y) * kThreads * kWords + threadIdx.x;
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
void move(const void* from, int64_t from_lead, void* to, int64_t to_lead, int64_t rows, int64_t n) {
  const int64_t across = (n / 8 + kThreads * kWords) / (kThreads * kWords);
  launch(move_rows, Grid{.blocks = rows, .threads = kThreads, .y = int(across)}, static_cast<const uint16_t*>(from), from_lead,
         static_cast<uint16_t*>(to), to_lead, n);
}

}  // namespace

Bands::Bands(const Gemm& g) {
  const ProductShape& s = g.shape;
  const Code own = own_code(g.math);
  if ((g.math != Math::bf16 && g.math != Math::f16) || g.a.code != own || g.b.code != own || g.out != own) return;
  if (g.swapped || s.batch != 1 || g.column != 1 || s.m * s.n < kLeastWork / std::max<int64_t>(s.k, 1)) return;
  if (!is_plain(g.a) || !is_plain(g.b) || std::max(s.m, std::max(s.n, s.k)) > INT32_MAX / 2) return;
  const bool a = !is_even(lead_of(g.a)), b = !is_even(lead_of(g.b));
  copies_side_ = a || b, copies_result_ = !is_even(g.row);
  if ((a && b) || (!copies_side_ && !copies_result_)) return;
  whole_ = g;
  of_ = b ? Of::b : Of::a;
  lines_ = b ? s.n : s.m;
  const int64_t line = (copies_side_ ? 2 * s.k : 0) + (copies_result_ ? 2 * (b ? s.m : s.n) : 0);
  const int64_t most = std::max(kLeastLines, kBandBytes / line), bands = (lines_ + most - 1) / most;
  each_ = ((lines_ + bands - 1) / bands + kLeastLines - 1) / kLeastLines * kLeastLines;
}

int64_t Bands::side_lead(int64_t lines) const { return along_k(side()) ? even(whole_.shape.k) : even(lines); }
int64_t Bands::result_lead(int64_t lines) const { return of_ == Of::a ? even(whole_.shape.n) : even(lines); }
int64_t Bands::side_bytes(int64_t lines) const {
  return copies_side_ ? padded(2 * side_lead(lines) * (along_k(side()) ? lines : whole_.shape.k)) : 0;
}
int64_t Bands::result_bytes(int64_t lines) const {
  return copies_result_ ? padded(2 * result_lead(lines) * (of_ == Of::a ? lines : whole_.shape.m)) : 0;
}
void Bands::copy_side(const void* from, int64_t lines, void* to) const {
  const bool along = along_k(side());
  move(from, lead_of(side()), to, side_lead(lines), along ? lines : whole_.shape.k, along ? whole_.shape.k : lines);
}
void Bands::copy_result(const void* from, int64_t lines, void* to) const {
  const bool rows = of_ == Of::a;
  move(from, result_lead(lines), to, whole_.row, rows ? lines : whole_.shape.m, rows ? whole_.shape.n : lines);
}

Gemm Bands::band(int64_t lines) const {
  Gemm g = whole_;
  (of_ == Of::a ? g.shape.m : g.shape.n) = lines;
  if (copies_side_) (along_k(side()) ? side(g).steps.line : side(g).steps.k) = side_lead(lines);
  if (copies_result_) g.row = result_lead(lines);
  return g;
}
GemmPointers Bands::pointers(const GemmPointers& at, int64_t band) const {
  GemmPointers p = at;
  const int64_t first = band * each_;
  const auto further = [](auto*& pointer, int64_t elements) {
    using C = std::conditional_t<std::is_const_v<std::remove_pointer_t<std::remove_reference_t<decltype(pointer)>>>, const char,
                                 char>;
    if (pointer) pointer = static_cast<C*>(pointer) + 2 * elements;
  };
  further(of_ == Of::a ? p.a : p.b, first * side().steps.line);
  further(p.c, of_ == Of::a ? first * whole_.row : first);
  if (of_ == Of::b && whole_.bias != Code::none) further(p.bias, first * whole_.bias_step);
  return p;
}

}  // namespace dyadic::gpu
