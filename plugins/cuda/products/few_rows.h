// Products of at most 16 rows with a large matrix of weights, whose bytes are all the work: they are copied to shared memory as
// they lie, several steps ahead, decoded in registers to 16-bit numbers, which their formats' codes are exactly, and multiplied
// by tensor cores. Scales are applied to the sums of the elements that share one.
//
// Note [Units]: a warp has 16 lines of weights, and units of 64 along k, each four products of 16; the warps of a block share
// lines or k, and sums of the same lines are added in the order of k at the end. Which k a lane has is each format's own, but x
// follows: always four neighbours for a product, from 16 s + 4 t on in the s'th (t = lane % 4), or 32 (s / 2) + 8 t + 4 (s % 2)
// where a format's words hold eight neighbours (kPairs).
#pragma once
#include "plugins/cuda/products/few_formats.h"

namespace dyadic::gpu {

// What a lane knows of its lines' scales, read a step ahead.
template <int kGroups> struct ScalesAhead {
  uint32_t scale[2][kGroups], more[2][kGroups];
  __device__ __forceinline__ void fetch(const ScalePlane& p, const int64_t (&line)[2], int64_t k) {
    DY_UNROLL for (int h = 0; h < 2; ++h) DY_UNROLL for (int q = 0; q < kGroups; ++q) {
      const int64_t i = p.first + line[h] * p.per_line + ((k + q * (kUnit / kGroups)) >> p.shift);
      scale[h][q] = p.code == Code::f32  ? reinterpret_cast<const uint32_t*>(p.scales)[i]
                    : p.code == Code::u8 ? p.scales[i]
                                         : reinterpret_cast<const uint16_t*>(p.scales)[i];
      more[h][q] = 0;
      if (p.code == Code::u8) more[h][q] = reinterpret_cast<const uint32_t*>(p.nested)[i / 256];
      if (p.zeros) more[h][q] = p.zeros[i];
    }
  }
  __device__ __forceinline__ void values(const ScalePlane& p, float whole, int h, float (&d)[kGroups],
                                         float (&least)[kGroups]) const {
    DY_UNROLL for (int q = 0; q < kGroups; ++q) {
      const uint32_t s = scale[h][q];
      d[q] = p.code == Code::f32    ? bits_float(s)
             : p.code == Code::bf16 ? bits_float(s << 16)
             : p.code == Code::f16  ? scale_half(s)
                                    : dynamic_value<true>(uint8_t(s)) * bits_float(more[h][q]) + whole;
      least[q] = p.zeros ? d[q] * float(int8_t(more[h][q])) : 0;
    }
  }
};

template <int kTiles> inline constexpr int kFewStages = kTiles > 1 ? 3 : 4;

template <class F, class H, int kTiles>
__global__ void __launch_bounds__(kFewWarps * 32, kTiles > 1 ? 2 : 3)
    few_rows(FewRows p, Result<float> given_c, float* partial) {
  constexpr int kStages = kFewStages<kTiles>, kGroups = F::kGroups ? F::kGroups : 1, kOfGroup = 4 / kGroups;
  DY_DYNAMIC_SHARED(uint8_t, room);
  uint8_t* const stages = room + F::kTable;
  const int thread = int(threadIdx.x), lane = thread % 32, warp = thread / 32, g = lane / 4, t = lane % 4;
  const int lines = 16 * p.across, slices = kFewWarps / p.across, slice = warp / p.across;
  const int units = F::kUnits * slices, step_k = kUnit * units, step_bytes = step_k / F::kSpan * F::kSpanBytes;
  const int64_t blocks = (p.n + lines - 1) / lines, part = blockIdx.x / blocks, first = blockIdx.x % blocks * lines;
  const int64_t begin = part * p.depth, end = begin + p.depth < p.k ? begin + p.depth : p.k;
  const int all_units = int((end - begin + kUnit - 1) / kUnit), steps = (all_units + units - 1) / units;
  const int mine = warp % p.across * 16 + g;  // and the eighth behind it

  // A thread's share of a step: 16 bytes of some lines, and of x.
  const int64_t begin_bytes = begin / F::kSpan * F::kSpanBytes;
  const int copied = thread >> p.lanes, apart = (kFewWarps * 32) >> p.lanes, piece = (thread & ((1 << p.lanes) - 1)) * 16;
  const uint8_t* const line_from = p.weights + (first + copied) * p.line + begin_bytes;
  const int64_t line_apart = apart * p.line;
  const int here = int(p.n - first < lines ? p.n - first : lines), run_bits = 3 + p.unit_bits;  // 8 of x
  const int row = thread >> run_bits, row_apart = (kFewWarps * 32) >> run_bits, run = (thread & ((1 << run_bits) - 1)) * 8;
  const uint16_t* const x_from = p.x + row * p.x_line + begin + run;
  const auto copy = [&](int step) {
    if (step >= steps) return;
    uint8_t* const to = stages + step % kStages * p.stage;
    const int at = step * step_bytes;
    const int left = int(p.line_bytes - begin_bytes) - at;
    const uint8_t* line = line_from + at;
    for (int i = copied; i < lines; i += apart, line += line_apart) {
      const int before = F::kLoose ? int(reinterpret_cast<uintptr_t>(line) % 16) : 0;
      for (int b = piece; b < before + step_bytes; b += 16 << p.lanes)
        copy_bytes16(to + i * p.pitch + b, line - before + b, i < here ? before + left - b : 0);
    }
    const int k_left = int(p.k - begin) - step * step_k - run;
    const uint16_t* x = x_from + int64_t(step) * step_k;
    for (int i = row; i < p.m; i += row_apart, x += row_apart * p.x_line)
      copy_bytes16(to + lines * p.pitch + i * p.x_pitch + 2 * run, x, 2 * k_left);
  };
  if constexpr (F::kTable > 0) F::template fill<H>(room, p);

  int64_t line[2];
  int line_low[2];  // where lines begin, modulo 16
  DY_UNROLL for (int h = 0; h < 2; ++h) {
    line[h] = first + mine + 8 * h < p.n ? first + mine + 8 * h : p.n - 1;
    line_low[h] = int((reinterpret_cast<uintptr_t>(p.weights) + uint64_t(line[h] * p.line + begin_bytes)) % 16);
  }
  ScalesAhead<kGroups> ahead[F::kPlane ? F::kUnits : 1];
  float whole = 0;
  const auto fetch = [&](int step, int unit) {
    const int u = step * units + unit * slices + slice;
    if (u < all_units) ahead[unit].fetch(p.plane, line, begin + u * kUnit);
  };
  if constexpr (F::kPlane) {
    DY_UNROLL for (int u = 0; u < F::kUnits; ++u) fetch(0, u);
    if (p.plane.whole) whole = *p.plane.whole;
  }

  const bool least_too = F::kLeast && (!F::kPlane || p.plane.zeros);
  float sum[kTiles][4] = {};
  const uint8_t* x_rows[kTiles];  // in the first stage
  DY_UNROLL for (int j = 0; j < kTiles; ++j) x_rows[j] =
      stages + lines * p.pitch + (8 * j + g < p.m ? 8 * j + g : 0) * p.x_pitch + (F::kPairs ? 16 : 8) * t;
  for (int step = 1 - kStages; step < steps; ++step) {
    if (step >= 0) {
      wait_groups<kStages - 2>();
      __syncthreads();
    }
    copy(step + kStages - 1), begin_group();
    if (step < 0) continue;
    const int stage = step % kStages * p.stage;
    LineBytes bytes[2];
    DY_UNROLL for (int h = 0; h < 2; ++h)
        bytes[h] = {stages + stage + (mine + 8 * h) * p.pitch, F::kLoose ? (line_low[h] + step * step_bytes) & 15 : 0};
    DY_UNROLL for (int unit = 0; unit < F::kUnits; ++unit) {
      const int u = unit * slices + slice;
      if (step * units + u >= all_units) break;
      uint32_t w[2][8];
      float d[2][kGroups], least[2][kGroups];
      DY_UNROLL for (int h = 0; h < 2; ++h) {
        F::template decode<H>(room, bytes[h], u, t, w[h], d[h], least[h]);
        if constexpr (F::kPlane) ahead[unit].values(p.plane, whole, h, d[h], least[h]);
      }
      if constexpr (F::kPlane) fetch(step + 1, unit);
      uint32_t y[kTiles][8];
      DY_UNROLL for (int j = 0; j < kTiles; ++j) {
        const uint8_t* const y_row = x_rows[j] + stage + 2 * kUnit * u;
        DY_UNROLL for (int i = 0; i < (F::kPairs ? 2 : 4); ++i) {
          if constexpr (F::kPairs) {
            const Word16 word = *reinterpret_cast<const Word16*>(y_row + 64 * i);
            DY_UNROLL for (int e = 0; e < 4; ++e) y[j][4 * i + e] = word.part[e];
          } else {
            const Word8 word = *reinterpret_cast<const Word8*>(y_row + 32 * i);
            y[j][2 * i] = word.part[0], y[j][2 * i + 1] = word.part[1];
          }
        }
      }
      DY_UNROLL for (int q = 0; q < kGroups; ++q) DY_UNROLL for (int j = 0; j < kTiles; ++j) {
        float own[4] = {}, all[4] = {};
        DY_UNROLL for (int s = q * kOfGroup; s < (q + 1) * kOfGroup; ++s) {
          const uint32_t a[4] = {w[0][2 * s], w[1][2 * s], w[0][2 * s + 1], w[1][2 * s + 1]};
          mma<H>(F::kGroups ? own : sum[j], a, y[j][2 * s], y[j][2 * s + 1]);
          if (least_too) {
            constexpr uint32_t kOne = both_halves<H>(1.f);
            const uint32_t ones[4] = {kOne, kOne, kOne, kOne};
            mma<H>(all, ones, y[j][2 * s], y[j][2 * s + 1]);
          }
        }
        if constexpr (F::kGroups > 0) DY_UNROLL for (int e = 0; e < 4; ++e) {
            sum[j][e] = fmaf(own[e], d[e / 2][q], sum[j][e]);
            if (least_too) sum[j][e] = fmaf(all[e], -least[e / 2][q], sum[j][e]);
          }
      }
    }
  }

  wait_groups<0>();
  __syncthreads();
  constexpr int kColumns = 8 * kTiles;
  auto* const sums = reinterpret_cast<float*>(stages);
  DY_UNROLL for (int j = 0; j < kTiles; ++j) DY_UNROLL for (int e = 0; e < 4; ++e)
      sums[(slice * lines + mine + e / 2 * 8) * kColumns + 8 * j + 2 * t + e % 2] = sum[j][e];
  __syncthreads();
  const int of = thread % lines;
  for (int i = thread / lines; i < p.m && of < here; i += kFewWarps * 32 / lines) {
    float x = 0;
    for (int s = 0; s < slices; ++s) x += sums[(s * lines + of) * kColumns + i];
    if (p.parts > 1)
      partial[(part * p.m + i) * p.n + first + of] = x;
    else
      given_c.put(i, first + of, x);
  }
}

// False: memory does not lie as this reads it. `p` says where the weights and their scales are.
template <class F> bool run_few_rows(const Gemm& g, const GemmPointers& at, FewRows p) {
  const ProductShape& s = g.shape;
  if (!is_aligned(at.a) || (!F::kLoose && (!is_aligned(p.weights) || p.line % 16))) return false;
  p.x = static_cast<const uint16_t*>(at.a), p.x_line = g.a.steps.line;
  p.n = s.n, p.k = s.k, p.depth = s.parts > 1 ? s.depth : s.k, p.m = int(s.m), p.parts = int(s.parts), p.across = g.across;
  p.line_bytes = s.k * F::kSpanBytes / F::kSpan;
  const int lines = 16 * p.across, step = kUnit * F::kUnits * (kFewWarps / p.across), bytes = step / F::kSpan * F::kSpanBytes;
  // Rows of eight lanes' reads lie in different banks.
  constexpr int kApart = 4 * F::kRead;
  const int rooms = (bytes + (F::kLoose ? 15 : 0) + kApart - 1) / kApart;
  p.pitch = (rooms | 1) * kApart;
  p.x_pitch = 2 * step + (F::kPairs ? 64 : 32);
  p.stage = lines * p.pitch + p.m * p.x_pitch;
  p.lanes = 0, p.unit_bits = __builtin_ctz(unsigned(step / kUnit));
  while (p.lanes < 5 && (16 << p.lanes) < bytes) ++p.lanes;
  const Result<float> c = result_of<float>(g, at);
  auto* const partial = static_cast<float*>(at.workspace);
  const auto run = [&]<class H, int kTiles>() {
    const Grid grid{.blocks = (s.n + lines - 1) / lines * s.parts,
                    .threads = kFewWarps * 32,
                    .shared = F::kTable + int64_t{kFewStages<kTiles>} * p.stage};
    launch(few_rows<F, H, kTiles>, grid, p, c, partial);
  };
  const bool wide = s.m > 8;
  if (g.math == Math::bf16)
    wide ? run.template operator()<Bf16, 2>() : run.template operator()<Bf16, 1>();
  else
    wide ? run.template operator()<F16, 2>() : run.template operator()<F16, 1>();
  finish_parts<float>(s, c, partial);
  return true;
}

}  // namespace dyadic::gpu
