// Products with weights in blocked formats, which are decoded where they are read: few rows by sums along the weights' lines,
// more by tensor cores, for which tiles of weights are decoded on their way to shared memory.
#include "plugins/cuda/products/stored.h"

#include "plugins/cuda/products/few_rows.h"

namespace dyadic::gpu {
namespace {

constexpr int64_t kDotRows = 4;

bool along_k(const SideSteps& s) { return s.k == 1; }
const uint8_t* storage(const GemmPointers& at) { return static_cast<const uint8_t*>(at.b); }
int64_t apart(const SideSteps& s) { return along_k(s) ? s.line : s.k; }

template <int kRows> void run_sums(const Gemm& g, const GemmPointers& at) {
  constexpr int kColumns = 2;
  const Result<float> c = result_of<float>(g, at);
  const UsualValues a{at.a, g.a.code, g.a.steps};
  const StoredValues b{storage(at), blocked_of(*g.b.format, g.b.geometry), g.b.first, g.b.steps.line, own_code(g.math)};
  launch(dot_product<kRows, kColumns, kStoredRun, float, UsualValues, StoredValues, Result<float>>,
         tile_grid(g.shape, kRows, 8 * kColumns, 256), a, b, c, static_cast<float*>(at.workspace), g.shape);
  finish_parts<float>(g.shape, c, at.workspace);
}
template <class H, class Tile> void run_tiles(const Gemm& g, const GemmPointers& at) {
  const Result<float> c = result_of<float>(g, at);
  const Dense16<H> a = dense16<H>(g.a, at.a, g.shape);
  const StoredSide<H> b{storage(at), along_k(g.b.steps), blocked_of(*g.b.format, g.b.geometry), g.b.first, apart(g.b.steps)};
  launch(mma_product<H, Tile, Dense16<H>, StoredSide<H>, Result<float>>,
         tile_grid(g.shape, Tile::kRows, Tile::kColumns, Tile::kThreads), a, b, c, static_cast<float*>(at.workspace), g.shape);
  finish_parts<float>(g.shape, c, at.workspace);
}
template <class H> void run_rows(const Gemm& g, const GemmPointers& at) {
  g.shape.m <= FlatTile::kRows ? run_tiles<H, FlatTile>(g, at) : run_tiles<H, WideTile>(g, at);
}

// Where few_rows.h finds a line's codes, and their scales. span: elements that lie in `bytes`.
template <class F> FewRows lines_of(const Gemm& g, const GemmPointers& at, const Blocked& f) {
  const int64_t first = g.b.first / F::kSpan * F::kSpanBytes, line = g.b.steps.line / F::kSpan * F::kSpanBytes;
  return {.weights = storage(at) + f.codes + first, .line = line};
}
template <class F> bool run_few_blocks(const Gemm& g, const GemmPointers& at, const Blocked& f) {
  return run_few_rows<F>(g, at, lines_of<F>(g, at, f));
}
bool one_or_power(int64_t group, int64_t k) { return group >= k || (group & (group - 1)) == 0; }
int shift_of(int64_t group, int64_t k) { return group >= k ? 62 : __builtin_ctzll(uint64_t(group)); }
template <class F> bool run_few_flat(const Gemm& g, const GemmPointers& at, const Blocked& f) {
  FewRows p = lines_of<F>(g, at, f);
  const uint8_t* const from = storage(at);
  p.book = Book4::nf4;
  p.plane = {.scales = from + f.scales,
             .first = g.b.first / f.block.by,
             .per_line = g.b.steps.line / f.block.by,
             .shift = shift_of(f.block.by, g.shape.k)};
  if (f.more >= 0) {
    p.plane.nested = reinterpret_cast<const float*>(from + f.more);
    p.plane.whole = reinterpret_cast<const float*>(from + f.whole);
    p.plane.code = Code::u8;
  }
  return run_few_rows<F>(g, at, p);
}
template <class F> bool run_few_groups(const Gemm& g, const GemmPointers& at, const Blocked& f) {
  const int64_t row = g.b.first / f.cols.by;
  FewRows p{.weights = storage(at) + f.codes + row * f.pitch, .line = f.pitch, .book = Book4::i4};
  p.plane = {.scales = storage(at) + f.scales,
             .zeros = f.zeros < 0 ? nullptr : storage(at) + f.zeros,
             .code = f.scale,
             .first = row * f.scales_per_row,
             .per_line = f.scales_per_row,
             .shift = f.scales_per_row ? shift_of(f.block.by, g.shape.k) : 62};
  return run_few_rows<F>(g, at, p);
}

}  // namespace

bool few_stored(const Gemm& g) {
  const Blocked f = blocked_of(*g.b.format, g.b.geometry);
  const int64_t k = g.shape.k, line = g.b.steps.line;
  const auto lie = [&](int64_t span) { return k % kUnit == 0 && k % span == 0 && line % span == 0 && g.b.first % span == 0; };
  switch (f.layout) {
    case Layout::q4_0:
    case Layout::q8_0:
    case Layout::mxfp4:
      return lie(32);
    case Layout::q4_K:
    case Layout::q6_K:
      return lie(256);
    case Layout::nf4:
      return lie(f.block.by) && (f.block.by & (f.block.by - 1)) == 0 && f.block.by % 32 == 0;
    case Layout::int_group:  // whole rows
      return f.bits == 4 && lie(f.cols.by) && f.band == 1 && one_or_power(f.block.by, k) && f.block.by % 32 == 0 &&
             (f.scale == Code::f32 || f.scale == Code::bf16 || f.scale == Code::f16);
    default:
      return false;
  }
}
bool run_few_stored(const Gemm& g, const GemmPointers& at) {
  const Blocked f = blocked_of(*g.b.format, g.b.geometry);
  switch (f.layout) {
    case Layout::q4_0:
      return run_few_blocks<FewQ4_0>(g, at, f);
    case Layout::q8_0:
      return run_few_blocks<FewQ8_0>(g, at, f);
    case Layout::mxfp4:
      return run_few_blocks<FewMx4>(g, at, f);
    case Layout::q4_K:
      return run_few_blocks<FewSixBit<false>>(g, at, f);
    case Layout::q6_K:
      return run_few_blocks<FewQ6K>(g, at, f);
    case Layout::nf4:
      return f.block.by % kUnit ? run_few_flat<FewNibbles<2>>(g, at, f) : run_few_flat<FewNibbles<1>>(g, at, f);
    default:
      return f.block.by % kUnit ? run_few_groups<FewNibbles<2>>(g, at, f) : run_few_groups<FewNibbles<1>>(g, at, f);
  }
}

bool stored_by_sums(const Gemm& g) { return g.shape.m <= kDotRows && along_k(g.b.steps); }
bool stored_reads(const Gemm& g) {
  const SideSteps& s = g.b.steps;
  const int64_t run = along_k(s) ? g.shape.k : g.shape.n;
  const bool half = g.math == Math::bf16 || g.math == Math::f16;
  if (g.dropped || g.a.code != own_code(g.math) || (g.math != Math::f32 && !half) || (!half && !stored_by_sums(g)))
    return false;
  if ((!along_k(s) && s.line != 1) || apart(s) % kStoredRun || run % kStoredRun || g.b.first % kStoredRun) return false;
  return decodes_stored(blocked_of(*g.b.format, g.b.geometry));
}

void run_stored(const Gemm& g, const GemmPointers& at) {
  if (stored_by_sums(g)) return g.shape.m == 1 ? run_sums<1>(g, at) : run_sums<kDotRows>(g, at);
  g.math == Math::bf16 ? run_rows<Bf16>(g, at) : run_rows<F16>(g, at);
}

}  // namespace dyadic::gpu
