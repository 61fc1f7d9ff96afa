// How a product is cut into tiles: a function of shape, strides, dtypes and instruction set alone.
#pragma once
#include <cstddef>
#include <cstdint>

#include "loops/gemm.h"
#include "loops/gemm_kernel.h"

namespace dyadic::inline v1 {

enum class GemmPath : uint8_t { empty, tiny, few, blocked, onednn };

struct GemmPlan {
  GemmPath path = GemmPath::empty;
  const GemmFunctions* functions = nullptr;
  int64_t compute_bytes = 4;
  bool swapped = false;  // c^T = b^T a^T: `few` wants few rows
  int64_t m = 0, n = 0, k = 0, batch = 1;
  GemmTile whole{};                             // a, b, c and strides as the tiles see them, swapped or not
  int64_t tm = 1, tn = 1, tk = 1;               // tile sizes
  int64_t tiles_m = 0, tiles_n = 0, parts = 1;  // and counts; parts of k are summed in a tree
  size_t slot_bytes = 0;                        // scratch of one thread
  size_t packed_bytes = 0;                      // b, packed once for all tiles; 0: each tile packs its own
  size_t part_bytes = 0;                        // partial sums
  size_t bias_bytes = 0;                        // the bias converted to the compute type
  int64_t tiles() const { return tiles_m * tiles_n; }
  int64_t tile_work() const { return tm * tn * tk; }
};

// Of complex numbers: the same product over their parts, Note [Complex operands] in gemm_pack.h; a lone column becomes a row,
// so that vectors run along it. Any other call is left as it is.
BatchedGemm in_parts(const BatchedGemm& call);
GemmPlan plan_gemm(const BatchedGemm& call);  // in parts

}  // namespace dyadic::inline v1
