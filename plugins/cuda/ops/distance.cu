// Euclidean distances between the rows of two matrices, by differences: products would lose the digits of small distances.
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/products/sides.h"

namespace dyadic::gpu {
namespace {

constexpr int kTile = 32, kDepth = 32;
constexpr int64_t kTerms = 256;  // squares that are added up before their sum is, so that long rows lose no digits

struct Distances {
  int64_t batch, n, m, d;
  Code x, y, out;
};

// A thread has 2 x 2 pairs of rows.
template <class T>
__global__ void __launch_bounds__(256, 1) row_distances(const void* x, const void* y, void* out, Distances p) {
  __shared__ T xs[kDepth][kTile + 1], ys[kDepth][kTile + 1];
  const int t = int(threadIdx.x), ty = t / 16, tx = t % 16;
  const int64_t tiles_n = (p.n + kTile - 1) / kTile, tiles_m = (p.m + kTile - 1) / kTile;
  for (int64_t number = blockIdx.x; number < tiles_n * tiles_m * p.batch; number += gridDim.x) {
    const int64_t b = number / (tiles_n * tiles_m), i = number / tiles_m % tiles_n * kTile, j = number % tiles_m * kTile;
    T sum[2][2] = {}, some[2][2] = {};
    for (int64_t k = 0; k < p.d; k += kDepth) {
      __syncthreads();
      DY_UNROLL for (int e = 0; e < 4; ++e) {
        const int row = t / kDepth + 8 * e, at = t % kDepth;
        const bool in = k + at < p.d;
        xs[at][row] = in && i + row < p.n ? load_usual<T>(p.x, x, (b * p.n + i + row) * p.d + k + at) : T(0);
        ys[at][row] = in && j + row < p.m ? load_usual<T>(p.y, y, (b * p.m + j + row) * p.d + k + at) : T(0);
      }
      __syncthreads();
      DY_UNROLL for (int at = 0; at < kDepth; ++at) DY_UNROLL for (int r = 0; r < 2; ++r)
          DY_UNROLL for (int c = 0; c < 2; ++c) {
        const T apart = xs[at][ty + 16 * r] - ys[at][tx + 16 * c];
        some[r][c] = multiply_add(apart, apart, some[r][c]);
      }
      if ((k + kDepth) % kTerms && k + kDepth < p.d) continue;
      DY_UNROLL for (int r = 0; r < 2; ++r) DY_UNROLL for (int c = 0; c < 2; ++c) sum[r][c] += some[r][c], some[r][c] = 0;
    }
    DY_UNROLL for (int r = 0; r < 2; ++r) DY_UNROLL for (int c = 0; c < 2; ++c) {
      const int64_t row = i + ty + 16 * r, column = j + tx + 16 * c;
      if (row < p.n && column < p.m) store_usual<T>(p.out, out, (b * p.n + row) * p.m + column, sqrt(sum[r][c]));
    }
  }
}

void run(const Distances& p, const Pointers& at) {
  const int64_t tiles = (p.n + kTile - 1) / kTile * ((p.m + kTile - 1) / kTile) * p.batch;
  Grid grid = grid_for(tiles * 256);
  if (p.x == Code::f64)
    launch(row_distances<double>, grid, static_cast<const void*>(at.in[0]), static_cast<const void*>(at.in[1]), at.out[0], p);
  else
    launch(row_distances<float>, grid, static_cast<const void*>(at.in[0]), static_cast<const void*>(at.in[1]), at.out[0], p);
}
void plan(Call& c) {
  namespace arg = ops::euclidean_distances_op::arg;
  const Operand x = c.operand(arg::x1), y = c.operand(arg::x2);
  c.plan.set<run>(Distances{x.lengths[0], x.lengths[1], y.lengths[1], x.lengths[2], code_of(x.format), code_of(y.format),
                            code_of(c.result().format)});
}
const Registered distances{"euclidean_distances", {.plan = plan, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
