// Products of bf16 and f16 on tensor cores.
#include "plugins/cuda/products/few_rows.h"

namespace dyadic::gpu {
namespace {

template <class H, class Tile, class A, class B> void run_tile(const Gemm& g, const GemmPointers& at, const A& a, const B& b) {
  const Result<float> c = result_of<float>(g, at);
  launch(mma_product<H, Tile, A, B, Result<float>>, tile_grid(g.shape, Tile::kRows, Tile::kColumns, Tile::kThreads), a, b, c,
         static_cast<float*>(at.workspace), g.shape);
  finish_parts<float>(g.shape, c, at.workspace);
}
template <class H, class A, class B> void run_way(const Gemm& g, const GemmPointers& at, const A& a, const B& b) {
  if (g.way == Way::flat_mma) return run_tile<H, FlatTile>(g, at, a, b);
  g.way == Way::mma ? run_tile<H, WideTile>(g, at, a, b) : run_tile<H, SmallTile>(g, at, a, b);
}
template <class H> void run_as(const Gemm& g, const GemmPointers& at) {
  if (g.a.code == H::kCode && g.b.code == H::kCode)
    run_way<H>(g, at, dense16<H>(g.a, at.a, g.shape), dense16<H>(g.b, at.b, g.shape));
  else
    run_way<H>(g, at, coded16<H>(g.a, at.a), coded16<H>(g.b, at.b));
}

}  // namespace

bool run_few_dense(const Gemm& g, const GemmPointers& at) {
  return run_few_rows<FewDense>(g, at, {.weights = static_cast<const uint8_t*>(at.b), .line = g.b.steps.line * 2});
}
void run_mma(const Gemm& g, const GemmPointers& at) { g.math == Math::bf16 ? run_as<Bf16>(g, at) : run_as<F16>(g, at); }

}  // namespace dyadic::gpu
