// Dense matrix products: hands the plan's tiles to the threads, adds up the parts of a long k.
#include "loops/gemm.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "formats/format.h"
#include "loops/gemm_kernel.h"
#include "loops/gemm_onednn.h"
#include "loops/gemm_plan.h"

namespace dyadic::inline v1 {
namespace {

std::atomic<int64_t> calls{0};

// The same product with a result of the compute type: a part of a sum is rounded with the whole.
const GemmFunctions& partial(const GemmFunctions& f) {
  const GemmKernel& table = gemm_kernel();
  return &f == &table.bf16 ? table.bf16_f32 : &f == &table.f16 ? table.f16_f32 : f;
}

// The workspace: slots of the threads, partial sums, the converted bias.
struct Run {
  const GemmPlan& plan;
  GemmPointers at;
  char *slots, *packed, *parts, *bias_copy;

  Run(const GemmPlan& p, const GemmPointers& pointers) : plan(p), at(pointers) {
    if (p.operands_swapped != p.swapped) std::swap(at.a, at.b);
    slots = (char*)((uintptr_t(at.workspace) + kGemmAlign - 1) / kGemmAlign * kGemmAlign);
    packed = slots + size_t(p.threads) * p.slot_bytes;
    parts = packed + p.packed_bytes;
    bias_copy = parts + p.part_bytes;
  }

  const void* bias() const {
    if (!plan.bias) return nullptr;
    if (plan.bias_bytes == 0) return at.bias;
    DY_ASSERT(plan.compute_bytes == 4 && plan.bias->compute() == Compute::f32);
    plan.bias->def->decode(at.bias, bias_copy, plan.swapped ? plan.m : plan.n);
    return bias_copy;
  }

  // The tile (im, in) of part p of batch entry b.
  GemmTile tile(int64_t b, int64_t p, int64_t im, int64_t in) const {
    GemmTile t = plan.whole;
    const int64_t i = im * plan.tm, j = in * plan.tn, k0 = p * plan.tk;
    t.m = std::min(plan.tm, plan.m - i), t.n = std::min(plan.tn, plan.n - j), t.k = std::min(plan.tk, plan.k - k0);
    const int64_t a_batch = plan.swapped ? plan.b_step : plan.a_step, b_batch = plan.swapped ? plan.a_step : plan.b_step;
    t.a = (const char*)at.a + (b * a_batch + i * t.a_row + k0 * t.a_col) * plan.item;
    const int64_t b_at = b * b_batch + k0 * t.b_row + j * t.b_col;
    if (plan.is_stored)
      t.b = at.b, t.stored = &plan.stored, t.b_first = plan.stored.first + at.b_first + b_at;
    else
      t.b = (const char*)at.b + b_at * plan.item;
    if (plan.parts > 1) {
      t.c = parts + ((b * plan.parts + p) * plan.m * plan.n + i * plan.n + j) * plan.compute_bytes;
      t.c_row = plan.n, t.c_col = 1, t.accumulate = false;
    } else {
      t.c = (char*)at.c + (b * plan.c_step + i * t.c_row + j * t.c_col) * plan.out_item;
    }
    if (plan.packed_bytes) t.packed = packed, t.packed_col = j, t.packed_cols = plan.n;
    t.scratch = slots + size_t(thread_index()) * plan.slot_bytes;
    return t;
  }
  // b's part of a tile that oneDNN multiplies, in the scratch behind its own.
  void load_stored(GemmTile& t) const {
    const bool rows = t.b_col == 1 && t.n > 1;
    const int64_t row = t.b_row, col = t.b_col;
    char* to = static_cast<char*>(t.scratch) + plan.slot_bytes - size_t(plan.tn * plan.tk * plan.item);
    to = (char*)(uintptr_t(to) / 64 * 64);
    stored_strides(t, t.k, t.n);
    if (rows)
      for (int64_t i = 0; i < t.k; ++i)
        read_stored(plan.stored, t.b, t.b_first + i * row, 1, t.n, to + i * t.b_row * plan.item);
    else
      for (int64_t j = 0; j < t.n; ++j)
        read_stored(plan.stored, t.b, t.b_first + j * col, row, t.k, to + j * t.b_col * plan.item);
    t.b = to;
  }
  void run_tile(int64_t index, const void* bias_values) const {
    const int64_t in = index % plan.tiles_n, im = index / plan.tiles_n % plan.tiles_m;
    const int64_t p = index / plan.tiles() % plan.parts, b = index / plan.tiles() / plan.parts;
    GemmTile t = tile(b, p, im, in);
    if (plan.parts == 1 && bias_values)
      t.bias = (const char*)bias_values + (im * plan.tm * t.bias_row + in * plan.tn * t.bias_col) * plan.compute_bytes;
    const GemmFunctions& f = plan.parts > 1 ? partial(*plan.functions) : *plan.functions;
    switch (plan.path) {
      case GemmPath::few:
        return f.few(t);
      case GemmPath::tiny:
        return f.tiny(t, {1, 0, 0, 0});
      case GemmPath::onednn:
        if (plan.is_stored) load_stored(t);
        return onednn_tile(t, onednn_types(plan));
      default:
        return f.blocked(t);
    }
  }
  void run_parts(const void* bias_values) const {
    const int64_t rows = plan.m, grain = std::max<int64_t>(1, (1 << 16) / (plan.n * plan.parts));
    for (int64_t b = 0; b < plan.batch; ++b) {
      GemmParts sum{.parts = plan.parts,
                    .m = plan.m,
                    .n = plan.n,
                    .part = parts + b * plan.parts * plan.m * plan.n * plan.compute_bytes,
                    .c = (char*)at.c + b * plan.c_step * plan.out_item,
                    .c_row = plan.whole.c_row,
                    .c_col = plan.whole.c_col,
                    .bias = bias_values,
                    .bias_row = plan.whole.bias_row,
                    .bias_col = plan.whole.bias_col,
                    .accumulate = plan.whole.accumulate};
      parallel_for(rows, grain, [&](int64_t begin, int64_t end) { plan.functions->combine(sum, begin, end); });
    }
  }
  // Entries [begin, end) of a batch whose products are one tile each.
  void run_entries(int64_t begin, int64_t end, const void* bias_values) const {
    GemmTile t = tile(begin, 0, 0, 0);
    t.bias = bias_values;
    plan.functions->tiny(t, {end - begin, plan.a_step, plan.b_step, plan.c_step});
  }
  void run() const {
    const void* bias_values = bias();
    if (plan.packed_bytes) {
      GemmTile b = plan.whole;
      b.b = at.b, b.n = plan.n, b.k = plan.k, b.packed = packed;
      const int64_t cols = gemm_kernel().cols_f32 * 4 / plan.compute_bytes;
      parallel_for((plan.n + cols - 1) / cols, 1 + (1 << 13) / (plan.k * cols + 1),
                   [&](int64_t begin, int64_t end) { plan.functions->pack(b, begin, end); });
    }
    if (plan.path == GemmPath::tiny && plan.tiles() == 1)
      return parallel_for(plan.batch, std::max<int64_t>(1, (1 << 16) / (16 + plan.tile_work())),  // 16: the way to each
                          [&](int64_t begin, int64_t end) { run_entries(begin, end, bias_values); });
    const int64_t tiles = plan.tiles() * plan.parts * plan.batch, work = std::max<int64_t>(plan.tile_work(), 1);
    if (work >= 1 << 18 && tiles > 1)
      parallel_each(tiles, [&](int64_t i) { run_tile(i, bias_values); });
    else
      parallel_for(tiles, std::max<int64_t>(1, (1 << 18) / work), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) run_tile(i, bias_values);
      });
    if (plan.parts > 1) run_parts(bias_values);
  }
};

}  // namespace

void run_gemm(const GemmPlan& plan, const GemmPointers& at) {
  calls.fetch_add(1, std::memory_order_relaxed);
  if (plan.path != GemmPath::empty) Run(plan, at).run();
}

int64_t gemm_calls() { return calls.load(std::memory_order_relaxed); }

}  // namespace dyadic::inline v1
