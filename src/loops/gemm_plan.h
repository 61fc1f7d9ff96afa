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
  const Format *in = nullptr, *out = nullptr, *bias = nullptr;  // of a, c and the bias; null: no bias
  Stored stored{};                                              // b where it is of another format
  bool is_stored = false;
  bool operands_swapped = false;               // of complex numbers: a and b have changed places
  int64_t item = 4, out_item = 4;              // bytes, of complex numbers those of a part
  int64_t a_step = 0, b_step = 0, c_step = 0;  // from one product of the batch to the next
  int threads = 1;
  int64_t compute_bytes = 4;
  bool swapped = false;  // c^T = b^T a^T: `few` wants few rows
  int64_t m = 0, n = 0, k = 0, batch = 1;
  GemmTile whole{};                             // strides as the tiles see them, swapped or not; no pointers
  int64_t tm = 1, tn = 1, tk = 1;               // tile sizes
  int64_t tiles_m = 0, tiles_n = 0, parts = 1;  // and counts; parts of k are summed in a tree
  size_t slot_bytes = 0;                        // scratch of one thread
  size_t packed_bytes = 0;                      // b, packed once for all tiles; 0: each tile packs its own
  size_t part_bytes = 0;                        // partial sums
  size_t bias_bytes = 0;                        // the bias converted to the compute type
  size_t workspace = 0;                         // bytes of all that
  int64_t tiles() const { return tiles_m * tiles_n; }
  int64_t tile_work() const { return tm * tn * tk; }
};

GemmPlan plan_gemm(const BatchedGemm& call);  // for the present num_threads()
inline GemmPlan plan_gemm(const GemmCall& call) { return plan_gemm(BatchedGemm{call}); }
void run_gemm(const GemmPlan& plan, const GemmPointers& at);

}  // namespace dyadic::inline v1
