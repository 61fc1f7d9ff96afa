// Which kernel makes a product, and those of numbers that no tensor core takes.
#include "plugins/cuda/products/gemm.h"

#include <algorithm>

#include "plugins/cuda/products/library.h"

namespace dyadic::gpu {
namespace {

constexpr int64_t kFewTiles = 96;      // tiles that keep a card busy
constexpr int64_t kWantedTiles = 192;  // once k is cut
constexpr int64_t kMaxParts = 64;
constexpr int64_t kMaxPartBytes = int64_t{64} << 20;
constexpr int64_t kLeastDepth = 256, kLeastDotDepth = 2048, kLeastFewDepth = 4096;
constexpr int64_t kFewDepthStep = 1024;  // the most that few_rows.h takes at once

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
bool is_half(Math m) { return m == Math::bf16 || m == Math::f16; }
bool as_stored(const Gemm& g) { return g.a.code == own_code(g.math) && g.b.code == own_code(g.math) && !g.dropped; }
int64_t few_rows(const Gemm& g) {  // that a warp keeps beside its columns
  if (!as_stored(g)) return 0;
  return g.math == Math::f32 ? 16 : g.math == Math::f64 || is_half(g.math) ? 4 : 0;
}

// How many warps of a block of few_rows.h lie side by side: the more, the seldomer x is read; 0: not a product for it.
int few_across(const Gemm& g) {
  const ProductShape& s = g.shape;
  constexpr int64_t kMostRows = 16, kLeastDepth = 256, kMostDepth = int64_t{1} << 28, kWantedBlocks = 192;
  if (!is_half(g.math) || s.m > kMostRows || s.m * s.n == 0 || s.batch != 1 || s.k < kLeastDepth || s.k > kMostDepth) return 0;
  const SideSteps &a = g.a.steps, &b = g.b.steps;
  if (g.a.code != own_code(g.math) || a.k != 1 || (s.m > 1 && a.line % 8) || b.k != 1) return 0;
  if (g.b.format ? !few_stored(g) : g.b.code != g.a.code || b.line % 8 || s.k % 8) return 0;
  int across = s.m > 8 ? 4 : s.m > 2 ? 2 : 1;
  while (across > 1 && s.n < 16 * across * kWantedBlocks) across /= 2;
  return across;
}

void swap_sides(Gemm& g) {
  std::swap(g.a, g.b), std::swap(g.shape.m, g.shape.n), std::swap(g.row, g.column);
  g.swapped = !g.swapped;
}

// A card's own instructions (wgmma of sm_90a) would be a further way, chosen here and nowhere else.
Way choose(const Gemm& g) {
  const ProductShape& s = g.shape;
  if (s.m == 0 || s.n == 0 || s.batch == 0) return Way::empty;
  if (g.b.format) return Way::stored;
  if (s.m <= few_rows(g) && (g.b.steps.k == 1 || s.k == 1)) return Way::few;
  const int64_t large = ceil_div(s.m, 128) * ceil_div(s.n, 128) * s.batch;
  if (is_half(g.math)) return s.m <= 16 ? Way::flat_mma : large >= kFewTiles ? Way::mma : Way::small_mma;
  return g.math == Math::f32 && as_stored(g) && large >= kFewTiles ? Way::large_tiles : Way::tiles;
}
int64_t tiles_of(const Gemm& g) {
  const auto tiles = [&](int rows, int columns) {
    return ceil_div(g.shape.m, rows) * ceil_div(g.shape.n, columns) * g.shape.batch;
  };
  switch (g.way) {
    case Way::few:
      return tiles(16, 32);
    case Way::mma:
    case Way::large_tiles:
      return tiles(128, 128);
    case Way::flat_mma:
      return tiles(16, 128);
    case Way::stored:
      return stored_by_sums(g) ? tiles(16, 16) : tiles(g.shape.m <= 16 ? 16 : 128, 128);
    default:
      return tiles(64, 64);
  }
}

// Tiles of 64 or 128 rows and columns.
template <int kGroups, class T, class A, class B>
void run_tiles(const Gemm& g, const GemmPointers& at, const A& a, const B& b) {
  const Result<T> c = result_of<T>(g, at);
  launch(tile_product<T, kGroups, A, B, Result<T>>, tile_grid(g.shape, 64 * kGroups, 64 * kGroups, 256), a, b, c,
         static_cast<T*>(at.workspace), g.shape);
  finish_parts<T>(g.shape, c, at.workspace);
}
template <class T> void run_as_stored(const Gemm& g, const GemmPointers& at) {
  run_tiles<1, T>(g, at, strided<T>(g.a, at.a), strided<T>(g.b, at.b));
}
template <class T> void run_coded(const Gemm& g, const GemmPointers& at) {
  run_tiles<1, T>(g, at, coded<T>(g.a, at.a, g.dropped), coded<T>(g.b, at.b, g.dropped));
}

template <int kRows, int kColumns, class T, class A, class B>
void run_dot(const Gemm& g, const GemmPointers& at, const A& a, const B& b) {
  const Result<T> c = result_of<T>(g, at);
  constexpr int kRun = sizeof(T) > 4 ? 2 : 8;
  launch(dot_product<kRows, kColumns, kRun, T, A, B, Result<T>>, tile_grid(g.shape, kRows, 8 * kColumns, 256), a, b, c,
         static_cast<T*>(at.workspace), g.shape);
  finish_parts<T>(g.shape, c, at.workspace);
}
template <class T, class Make> void run_few(const Gemm& g, const GemmPointers& at, Make make) {
  const auto a = make(g.a, at.a), b = make(g.b, at.b);
  if (g.shape.m == 1)
    run_dot<1, 4, T>(g, at, a, b);
  else if (g.shape.m <= 4)
    run_dot<4, 4, T>(g, at, a, b);
  else if constexpr (std::is_same_v<decltype(make(g.a, at.a)), Strided<float>>)
    run_dot<16, 2, T>(g, at, a, b);
}

void run_own(const Gemm& g, const GemmPointers& at) {
  if (g.across && (g.way == Way::stored ? run_few_stored(g, at) : run_few_dense(g, at))) return;
  const auto as = []<class T>(T) { return [](const GemmSide& side, const void* p) { return strided<T>(side, p); }; };
  switch (g.way) {
    case Way::empty:
      return;
    case Way::stored:
      return run_stored(g, at);
    case Way::mma:
    case Way::small_mma:
    case Way::flat_mma:
      return run_mma(g, at);
    case Way::few:
      if (g.math == Math::f32) return run_few<float>(g, at, as(float{}));
      if (g.math == Math::f64) return run_few<double>(g, at, as(double{}));
      if (g.math == Math::bf16)
        return run_few<float>(g, at, [&](const GemmSide& side, const void* p) { return dense16<Bf16>(side, p, g.shape); });
      return run_few<float>(g, at, [&](const GemmSide& side, const void* p) { return dense16<F16>(side, p, g.shape); });
    case Way::large_tiles:
      return run_tiles<2, float>(g, at, strided<float>(g.a, at.a), strided<float>(g.b, at.b));
    case Way::tiles:
      break;
  }
  const bool stored = as_stored(g);
  switch (g.math) {
    case Math::f64:
      return stored ? run_as_stored<double>(g, at) : run_coded<double>(g, at);
    case Math::c64:
      return run_coded<Parts<float>>(g, at);
    case Math::c128:
      return run_coded<Parts<double>>(g, at);
    case Math::i32:
      return run_coded<int32_t>(g, at);
    case Math::i64:
      return run_coded<int64_t>(g, at);
    default:
      return stored ? run_as_stored<float>(g, at) : run_coded<float>(g, at);
  }
}

}  // namespace

Code own_code(Math m) {
  constexpr Code kCodes[] = {Code::f32, Code::f64, Code::bf16, Code::f16, Code::i32, Code::i64, Code::c64, Code::c128};
  return kCodes[int(m)];
}
int64_t math_bytes(Math m) { return m == Math::c128 ? 16 : m == Math::f64 || m == Math::i64 || m == Math::c64 ? 8 : 4; }

int64_t cut_parts(ProductShape& s, int64_t tiles, int64_t least_depth, int64_t sum_bytes, int64_t step) {
  s.parts = 1, s.depth = s.k;
  const int64_t bytes = s.m * s.n * s.batch * sum_bytes;
  if (tiles == 0 || tiles >= kFewTiles || s.k < 2 * least_depth || bytes > kMaxPartBytes / 2) return 0;
  const int64_t wanted = std::min({ceil_div(kWantedTiles, tiles), s.k / least_depth, kMaxParts, kMaxPartBytes / bytes});
  s.depth = ceil_div(ceil_div(s.k, wanted), step) * step;
  s.parts = ceil_div(s.k, s.depth);
  return s.parts > 1 ? s.parts * bytes : 0;
}

void plan_gemm(Gemm& g) {
  const int64_t few = few_rows(g);
  if (!g.b.format && g.shape.m > few && g.shape.n <= few && (g.a.steps.k == 1 || g.shape.k == 1)) swap_sides(g);
  g.across = few_across(g);
  g.way = choose(g);
  if (g.across) {
    g.workspace = cut_parts(g.shape, 2 * ceil_div(g.shape.n, 16 * g.across), kLeastFewDepth, math_bytes(g.math), kFewDepthStep);
    return;
  }
  const bool sums = g.way == Way::few || (g.way == Way::stored && stored_by_sums(g));
  g.workspace =
      cut_parts(g.shape, g.way == Way::empty ? 0 : tiles_of(g), sums ? kLeastDotDepth : kLeastDepth, math_bytes(g.math));
  const int64_t wanted = library_workspace(g);
  g.library = wanted >= 0;
  if (g.library) g.workspace = std::max(g.workspace, wanted);
}

void run_gemm(const Gemm& g, const GemmPointers& given) {
  GemmPointers at = given;
  if (g.swapped) std::swap(at.a, at.b);
  if (g.library && library_product(g, at)) return;
  run_own(g, at);
}

}  // namespace dyadic::gpu
