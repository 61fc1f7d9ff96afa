// Products with weights in blocked formats, which are decoded where they are read: few rows by sums along the weights' lines,
// more by tensor cores, for which tiles of weights are decoded on their way to shared memory.
#include "plugins/cuda/products/stored.h"

#include "plugins/cuda/products/gemm.h"

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

}  // namespace

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
