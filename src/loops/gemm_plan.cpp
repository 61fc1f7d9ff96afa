// How a product is cut into tiles.
#include "loops/gemm_plan.h"

#include <algorithm>

#include "base/check.h"
#include "dyadic/parallel.h"
#include "loops/gemm_bf16.h"
#include "loops/gemm_onednn.h"

namespace dyadic::inline v1 {
namespace {

constexpr int64_t kSerialWork = 64 * 64 * 64;  // below it a second thread costs more than it brings
constexpr int64_t kTileWork = 4 << 20;         // multiply-adds worth a tile of their own (about 40 microseconds in f32)
constexpr int64_t kMaxTileCols = 384, kMaxTileRows = 512;
constexpr int64_t kSharedWork = 64 << 20;
constexpr int64_t kMaxPacked = 1 << 20;  // elements: 4 MiB of workspace
constexpr int64_t kPartDepth = 512, kShallowPart = 192, kMaxParts = 64;
constexpr int64_t kMaxPart = 1 << 20;  // elements of all partial sums: 4 MiB of workspace

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t up_to_multiple(int64_t a, int64_t to) { return ceil_div(a, to) * to; }

const GemmFunctions* functions_of(const GemmCall& call) {
  const GemmKernel& table = gemm_kernel();
  const DType in = call.a.dtype, out = call.c_dtype;
  if (in == bf16 && out == f32) return &table.bf16_f32;
  if (in == bf16 && out == bf16) return &table.bf16;
  if (in == f16 && out == f32) return &table.f16_f32;
  if (in == f16 && out == f16) return &table.f16;
  DY_ASSERT(in == out);
  if (in == f32) return &table.f32;
  if (in == f64) return &table.f64;
  if (in == c64) return &table.c64;
  if (in == c128) return &table.c128;
  if (in == i32) return &table.i32;
  DY_ASSERT(in == i64);
  return &table.i64;
}

void transpose(GemmPlan& plan) {
  GemmTile& t = plan.whole;
  plan.swapped = true;
  std::swap(plan.m, plan.n);
  std::swap(t.a, t.b);
  const int64_t a_row = t.a_row, a_col = t.a_col;
  t.a_row = t.b_col, t.a_col = t.b_row, t.b_row = a_col, t.b_col = a_row;
  std::swap(t.c_row, t.c_col);
  std::swap(t.bias_row, t.bias_col);
}

// A unit stride where the dimension leaves the choice, so that the kernels recognize rows and columns.
void normalize(GemmPlan& plan) {
  GemmTile& t = plan.whole;
  if (plan.m == 1) t.a_row = plan.k;
  if (plan.k == 1) t.a_col = 1, t.b_row = t.b_col == 1 ? plan.n : 1;
  if (plan.n == 1 && t.b_row != 1) t.b_col = 1;
}

void cut_few(GemmPlan& plan) {
  const int64_t work = plan.n * plan.k * plan.batch;  // elements of b: memory is the limit
  plan.tm = plan.m;
  const int64_t tiles = work * plan.m <= kSerialWork ? 1 : std::clamp<int64_t>(plan.n * plan.k >> 16, 4, 32);
  plan.tn = std::min(plan.n, up_to_multiple(ceil_div(plan.n, tiles), 64));
}

// Packing b in a step of its own, before all tiles: the second meeting of the threads has to be worth it.
bool shares_packed(const GemmPlan& plan) {
  return plan.batch == 1 && !plan.is_stored && plan.n * plan.k <= kMaxPacked && plan.m * plan.n * plan.k >= kSharedWork;
}

// Products so small that the way to a tile of their own takes longer than they do; and many rows times such a b.
bool is_tiny(const GemmPlan& plan) {
  if (!plan.functions->tiny || plan.k > kTinyDepth) return false;
  const int64_t most = plan.compute_bytes == 8 ? kTinyCols<double> : kTinyCols<float>;
  return plan.n <= most && (plan.n <= kGemmFew || plan.m <= most);
}
void cut_tiny(GemmPlan& plan) {
  constexpr int64_t kRows = 1024;
  plan.tm = std::min(plan.m, kRows), plan.tn = plan.n;
}

// Cycles of packing for each multiply-add of a tile, relative: an element of b costs 4 when transposed and 2 else, nothing when
// all tiles share it; one of a 1, next to nothing when its rows are read in place.
double packing_cost(const GemmPlan& plan, int64_t tm, int64_t tn) {
  const GemmTile& t = plan.whole;
  const double b = shares_packed(plan) ? 0 : t.b_col == 1 ? 2 : 4;
  const double a = plan.functions == &gemm_kernel().f32 && t.a_col == 1 ? 0.2 : 1;
  return b / double(tm) + a / double(tn);
}

void cut_blocks(GemmPlan& plan) {
  const GemmKernel& table = gemm_kernel();
  const int64_t work = plan.m * plan.n * plan.k;
  const int64_t rows = table.rows, cols = plan.compute_bytes == 8 ? table.cols_f32 / 2 : table.cols_f32;
  if (work * plan.batch <= kSerialWork) {
    plan.tm = plan.m, plan.tn = plan.n;
    return;
  }
  // A result narrower than its sum waits in the scratch as a whole: beside a decoded b that would be too much.
  const bool waits = plan.is_stored && plan.out->itemsize() < plan.compute_bytes;
  int64_t tiles_m = ceil_div(plan.m, kMaxTileRows), tiles_n = ceil_div(plan.n, waits ? kMaxTileCols / 2 : kMaxTileCols);
  const int64_t wanted = plan.batch >= 4 ? 1 : std::clamp<int64_t>(work / kTileWork, 4, 8);
  while (tiles_m * tiles_n < wanted) {
    const int64_t tm = ceil_div(plan.m, tiles_m), tn = ceil_div(plan.n, tiles_n);
    const bool can_m = tm >= 2 * rows, can_n = tn >= 2 * cols;
    if (!can_m && !can_n) break;
    if (can_m && (!can_n || packing_cost(plan, ceil_div(tm, 2), tn) <= packing_cost(plan, tm, ceil_div(tn, 2))))
      tiles_m *= 2;
    else
      tiles_n *= 2;
  }
  if (plan.path == GemmPath::onednn && plan.is_stored) {  // a tile of b is decoded whole: 256 KiB
    const int64_t most = std::max<int64_t>((128 << 10) / plan.k / 16 * 16, 16);
    tiles_n = std::max(tiles_n, ceil_div(plan.n, most));
  }
  plan.tm = std::min(plan.m, up_to_multiple(ceil_div(plan.m, tiles_m), rows));
  plan.tn = std::min(plan.n, up_to_multiple(ceil_div(plan.n, tiles_n), cols));
}

// A long k under a small c: parts of k become the tiles, whose sums are added in a fixed tree. Each element of a and b is
// packed once, where tiles of c would do it several times (384 x 384 x 2048: 20 % of the time).
void cut_depth(GemmPlan& plan) {
  plan.tk = plan.k;
  const int64_t size = plan.m * plan.n, work = size * plan.k;
  if (work * plan.batch <= kSerialWork) return;
  const bool few_tiles = plan.tiles() * plan.batch < 4 && plan.k >= 2 * kPartDepth;
  // Measured: below and above these sizes of c adding the parts costs more than packing twice.
  const int64_t enough = size <= 32 << 10 ? 8 * kPartDepth : size <= 64 << 10 ? 4 * kShallowPart : 4 * kPartDepth;
  const bool small_c = plan.path == GemmPath::blocked && plan.batch == 1 && size <= 160 << 10 && plan.k >= enough &&
                       std::min(plan.m, plan.n) >= (size <= 32 << 10 ? 16 : 128);
  if (!few_tiles && !small_c) return;
  if (small_c) plan.tm = plan.m, plan.tn = plan.n, plan.tiles_m = plan.tiles_n = 1;
  const int64_t depth = plan.k >= 4 * kPartDepth ? kPartDepth : kShallowPart;
  const int64_t most = std::clamp<int64_t>(kMaxPart / size, 4, kMaxParts);
  const int64_t parts = std::clamp<int64_t>(plan.k / std::max(depth, kSerialWork / 2 / size), 2, most);
  plan.tk = up_to_multiple(ceil_div(plan.k, parts), 64);
  plan.parts = ceil_div(plan.k, plan.tk);
}

void count_bytes(GemmPlan& plan, const GemmCall& call) {
  const bool narrow = call.c_dtype.itemsize() < plan.compute_bytes && plan.parts == 1;
  // Several rows of tiles would pack the same columns again: 8 % of the time for 768 x 384 x 128 with b transposed.
  const bool floats = call.c_dtype != i32 && call.c_dtype != i64;
  if (plan.path == GemmPath::blocked && floats && plan.parts == 1 && plan.tiles_m > 1 && shares_packed(plan))
    plan.packed_bytes = gemm_kernel().packed(plan.n, plan.k, plan.compute_bytes);
  switch (plan.path) {
    case GemmPath::blocked:
      plan.slot_bytes = gemm_kernel().scratch(plan.tm, plan.tn, plan.tk, plan.compute_bytes, narrow, plan.packed_bytes == 0);
      if (plan.is_stored) plan.slot_bytes += gemm_kernel().stored(plan.tk, plan.tn, plan.compute_bytes);
      break;
    case GemmPath::few:
      plan.slot_bytes = size_t(plan.tm * plan.tk * plan.item);
      if (plan.is_stored) plan.slot_bytes += size_t(std::max(kFewCols * plan.tk, kFewRows * kFewStrip) * plan.item) + 64;
      break;
    case GemmPath::onednn:
      plan.slot_bytes = onednn_scratch(plan);
      if (plan.is_stored) plan.slot_bytes += size_t(plan.tn * plan.tk * plan.item) + 128;
      break;
    case GemmPath::empty:
    case GemmPath::tiny:
      break;
  }
  plan.slot_bytes = size_t(up_to_multiple(int64_t(plan.slot_bytes), 128));
  plan.packed_bytes = size_t(up_to_multiple(int64_t(plan.packed_bytes), 128));
  if (plan.parts > 1)
    plan.part_bytes = size_t(up_to_multiple(plan.batch * plan.parts * plan.m * plan.n * plan.compute_bytes, 128));
  plan.workspace = size_t(plan.threads) * plan.slot_bytes + plan.packed_bytes + plan.part_bytes + plan.bias_bytes;
  if (plan.workspace) plan.workspace += kGemmAlign;
}

// Of complex numbers: the same product over their parts, Note [Complex operands] in gemm_pack.h; a lone column becomes a row,
// so that vectors run along it. Any other call is left as it is. swapped: a and b have changed places.
BatchedGemm in_parts(const BatchedGemm& batched, bool& swapped) {
  BatchedGemm r = batched;
  GemmCall& one = r.one;
  if (!one.a.dtype.is_complex()) return r;
  if (one.n == 1 && one.c_row_stride == 1) {
    std::swap(one.a, one.b), std::swap(one.m, one.n), std::swap(r.a_stride, r.b_stride);
    std::swap(one.a.row_stride, one.a.col_stride), std::swap(one.b.row_stride, one.b.col_stride);
    one.c_row_stride = one.n;
    swapped = true;
  }
  if (one.k == 1) one.a.col_stride = 1;
  one.n *= 2, one.k *= 2;
  one.a.row_stride *= 2, one.c_row_stride *= 2;
  r.a_stride *= 2, r.b_stride *= 2, r.c_stride *= 2;
  return r;
}

}  // namespace

bool gemm_reads(DType type, DType b) {
  const Format& f = *b.format();
  return (type == f32 || type == bf16 || type == f16 || type == f64) && f.def->kind != Kind::complex &&
         (f.compute() == Compute::f32 || (f.compute() == Compute::f64 && type == f64));
}

namespace {

// What the product reads and writes, as the tiles see it.
void describe(GemmPlan& plan, const BatchedGemm& batched) {
  const GemmCall& call = batched.one;
  DY_ASSERT(call.m >= 0 && call.n >= 0 && call.k >= 0 && batched.batch >= 0);
  plan.in = call.a.dtype.format(), plan.out = call.c_dtype.format(), plan.bias = call.bias_dtype.format();
  plan.a_step = batched.a_stride, plan.b_step = batched.b_stride, plan.c_step = batched.c_stride;
  plan.threads = num_threads();
  plan.is_stored = call.b.dtype != call.a.dtype;
  if (plan.is_stored) {
    DY_ASSERT(gemm_reads(call.a.dtype, call.b.dtype));
    plan.stored = {call.b.dtype.format(), plan.in, call.b.geometry, call.b.first};
  }
  plan.functions = functions_of(call);
  plan.item = call.a.dtype.to_real().itemsize(), plan.out_item = call.c_dtype.to_real().itemsize();
  plan.compute_bytes = plan.item == 8 ? 8 : 4;
  plan.m = call.m, plan.n = call.n, plan.k = call.k, plan.batch = batched.batch;
  plan.whole = {.a_row = call.a.row_stride,
                .a_col = call.a.col_stride,
                .b_row = call.b.row_stride,
                .b_col = call.b.col_stride,
                .c_row = call.c_row_stride,
                .c_col = 1,
                .bias_row = 0,
                .bias_col = 1,
                .accumulate = call.accumulate};
  if (call.bias_dtype && call.bias_dtype.itemsize() != plan.compute_bytes)
    plan.bias_bytes = size_t(up_to_multiple(call.n * plan.compute_bytes, 128));
}

}  // namespace

GemmPlan plan_gemm(const BatchedGemm& given) {
  GemmPlan plan;
  const BatchedGemm batched = in_parts(given, plan.operands_swapped);
  const GemmCall& call = batched.one;
  describe(plan, batched);
  if (call.m == 0 || call.n == 0 || batched.batch == 0) return plan;
  const bool complex = call.a.dtype.is_complex();
  const bool tiny = !plan.is_stored && is_tiny(plan);
  if (!tiny && !complex && !plan.is_stored && call.n <= kGemmFew && call.m > kGemmFew) transpose(plan);
  if (!complex) normalize(plan);
  const GemmTile& t = plan.whole;
  const bool few = !tiny && !complex && plan.m <= kGemmFew && (t.b_row == 1 || t.b_col == 1 || plan.is_stored);
  if (!few && plan.swapped) transpose(plan), plan.swapped = false;
  plan.path = tiny ? GemmPath::tiny : few ? GemmPath::few : GemmPath::blocked;
  if (plan.path == GemmPath::blocked && ((call.a.dtype == bf16 && bf16_path() != Bf16Path::decode)) && onednn_accepts(plan))
    plan.path = GemmPath::onednn;
  if (tiny)
    cut_tiny(plan);
  else if (few)
    cut_few(plan);
  else
    cut_blocks(plan);
  plan.tiles_m = ceil_div(plan.m, plan.tm), plan.tiles_n = ceil_div(plan.n, plan.tn);
  cut_depth(plan);
  count_bytes(plan, call);
  return plan;
}

}  // namespace dyadic::inline v1
