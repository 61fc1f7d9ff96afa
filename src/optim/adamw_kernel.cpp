// The fused AdamW step. Everything of a tile of 1024 elements happens while it is in the first-level cache; what is stored as
// f32 is computed on in place.
#include "optim/adamw_kernel.h"

#include "base/simd/simd.h"
#include "formats/block/dynamic8.h"
#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

using V = Vec<float>;
constexpr int64_t kStepTile = 4 * kAdamwBlock;
constexpr int64_t kGrainBlocks = 64;

// The loop's constants.
struct Constants {
  float beta1, one_minus_beta1, beta2, one_minus_beta2, decay, decayed, step_size, inverse_root_bias2, eps, grad_scale;

  explicit Constants(const AdamwStep& s)
      : beta1(static_cast<float>(s.beta1)),
        one_minus_beta1(static_cast<float>(1 - s.beta1)),
        beta2(static_cast<float>(s.beta2)),
        one_minus_beta2(static_cast<float>(1 - s.beta2)),
        decay(static_cast<float>(1 - s.lr * s.weight_decay)),
        decayed(static_cast<float>(s.lr * s.weight_decay)),
        step_size(static_cast<float>(s.lr / s.bias1)),
        inverse_root_bias2(static_cast<float>(1 / __builtin_sqrt(s.bias2))),
        eps(static_cast<float>(s.eps)),
        grad_scale(static_cast<float>(s.grad_scale)) {}
};

struct Tile {
  const float *grad, *param;
  float *m, *v;
  float* updated;  // the new parameters; param itself when they are stored as f32
  float* moved;    // the step, for parameters that are yet to be rounded; else null
};

// One tile. For parameters in f32 it counts the updates as well.
template <bool kRounds> DY_INLINE void update(const Constants& c, const Tile& t, int64_t n, UpdateCount& counts) {
  int64_t nonzero = 0, lost = 0;
  for_vectors<float>(n, [&](auto access, int64_t i) {
    const V g = access.load(t.grad + i) * V(c.grad_scale), p = access.load(t.param + i);
    const V m = access.load(t.m + i) * V(c.beta1) + g * V(c.one_minus_beta1);
    const V v = access.load(t.v + i) * V(c.beta2) + g * g * V(c.one_minus_beta2);
    access.store(t.m + i, m);
    access.store(t.v + i, v);
    const V adam = V(c.step_size) * (m / (sqrt(v) * V(c.inverse_root_bias2) + V(c.eps)));
    const V next = p * V(c.decay) - adam, moved = p * V(c.decayed) + adam;
    access.store(t.updated + i, next);
    if constexpr (kRounds) {
      access.store(t.moved + i, moved);
    } else {
      const auto real = access.only(moved != V(0));
      nonzero += int64_t(count(real));
      lost += int64_t(count(real & (next == p)));
    }
  });
  counts.nonzero += nonzero;
  counts.lost += lost;
}

void count_rounded(const float* moved, const float* before, const float* after, int64_t n, UpdateCount& counts) {
  for_vectors<float>(n, [&](auto access, int64_t i) {
    const auto real = access.only(access.load(moved + i) != V(0));
    counts.nonzero += int64_t(count(real));
    counts.lost += int64_t(count(real & (access.load(before + i) == access.load(after + i))));
  });
}

template <class Code> float* open_state(const AdamwState& s, int64_t at, int64_t n, float* buffer) {
  if (!s.absmax) return static_cast<float*>(s.data) + at;
  const auto* codes = static_cast<const uint8_t*>(s.data) + at;
  for (int64_t i = 0; i < n; i += kAdamwBlock) {
    Code::decode(codes + i, s.absmax[(at + i) / kAdamwBlock], buffer + i, min_of(kAdamwBlock, n - i));
  }
  return buffer;
}

template <class Code> void close_state(const AdamwState& s, int64_t at, int64_t n, const float* buffer) {
  if (!s.absmax) return;
  auto* codes = static_cast<uint8_t*>(s.data) + at;
  for (int64_t i = 0; i < n; i += kAdamwBlock) {
    s.absmax[(at + i) / kAdamwBlock] = Code::encode_block(buffer + i, codes + i, min_of(kAdamwBlock, n - i));
  }
}

// Elements [at, at + n), at a multiple of kAdamwBlock, n <= kStepTile.
void step_tile(const AdamwArrays& a, const AdamwStep& step, const Constants& c, int64_t at, int64_t n, UpdateCount& counts) {
  alignas(64) float grad[kStepTile], param[kStepTile], m[kStepTile], v[kStepTile], updated[kStepTile], moved[kStepTile];
  Tile t{};
  t.grad = read_tile(a.grad, at, n, grad);
  t.m = open_state<SignedDynamic8>(a.m, at, n, m);
  t.v = open_state<UnsignedDynamic8>(a.v, at, n, v);
  if (stores<float>(a.param.format)) {
    t.param = t.updated = static_cast<float*>(a.param.data) + at;
    update<false>(c, t, n, counts);
  } else {
    const FormatDef& def = *a.param.format->def;
    void* stored = element(a.param, at);
    def.decode(stored, param, n);
    t.param = param;
    t.updated = updated;
    t.moved = moved;
    update<true>(c, t, n, counts);
    Round rounding = step.rounding;
    rounding.index += static_cast<uint64_t>(at);
    def.encode(updated, stored, n, rounding);
    def.decode(stored, updated, n);
    count_rounded(moved, param, updated, n, counts);
  }
  close_state<SignedDynamic8>(a.m, at, n, t.m);
  close_state<UnsignedDynamic8>(a.v, at, n, t.v);
}

UpdateCount step(const AdamwArrays& a, const AdamwStep& step) {
  const Constants c(step);
  UpdateCount total;
  parallel_for((a.n + kAdamwBlock - 1) / kAdamwBlock, kGrainBlocks, [&](int64_t begin, int64_t end) {
    UpdateCount mine;
    const int64_t stop = min_of(a.n, end * kAdamwBlock);
    for (int64_t at = begin * kAdamwBlock; at < stop; at += kStepTile)
      step_tile(a, step, c, at, min_of(kStepTile, stop - at), mine);
    __atomic_fetch_add(&total.nonzero, mine.nonzero, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total.lost, mine.lost, __ATOMIC_RELAXED);
  });
  return total;
}

bool unscale(Target grad, int64_t n, double factor) {
  const V scale(static_cast<float>(factor));
  int bad = 0;
  parallel_for((n + kStepTile - 1) / kStepTile, 16, [&](int64_t begin, int64_t end) {
    alignas(64) float buffer[kStepTile];
    auto wrong = Mask<float>::first_n(0);
    for (int64_t at = begin * kStepTile; at < min_of(n, end * kStepTile); at += kStepTile) {
      const int64_t count = min_of(kStepTile, n - at);
      float* g = open_tile(grad, at, buffer);
      if (g == buffer) grad.format->def->decode(element(grad, at), buffer, count);
      for_vectors<float>(count, [&](auto access, int64_t i) {
        const V product = access.load(g + i) * scale;
        wrong = wrong | access.only(!isfinite(product));
        access.store(g + i, product);
      });
      close_tile(grad, at, count, buffer);
    }
    if (any(wrong)) __atomic_store_n(&bad, 1, __ATOMIC_RELAXED);
  });
  return bad == 0;
}

// Sixteen lanes of double, element i in lane i mod 16, Note [Virtual lanes].
double sum_squares_tile(const float* x, int64_t n) {
  constexpr hn::ScalableTag<double> d;
  constexpr hn::Rebind<float, hn::ScalableTag<double>> narrow;
  constexpr int64_t kSize = hn::MaxLanes(d), kLanes = kSumLanes<double>, kVectors = kLanes / kSize;
  hn::Vec<hn::ScalableTag<double>> sum[kVectors];
  for (auto& s : sum) s = hn::Zero(d);
  auto add = [&](const float* from) {
    for (int64_t j = 0; j < kVectors; j++) {
      const auto v = hn::PromoteTo(d, hn::LoadU(narrow, from + j * kSize));
      sum[j] = hn::Add(sum[j], hn::Mul(v, v));
    }
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) add(x + i);
  if (i < n) {
    float rest[kLanes] = {};
    for (int64_t j = i; j < n; j++) rest[j - i] = x[j];
    add(rest);
  }
  for (int64_t half = kVectors / 2; half > 0; half /= 2) {
    for (int64_t j = 0; j < half; j++) sum[j] = hn::Add(sum[j], sum[j + half]);
  }
  return reduce_sum(Vec<double>(sum[0]));
}

double sum_squares(Source grad, int64_t n) {
  constexpr int64_t kMaxPieces = 1024;  // of at least 64 Ki elements, whole blocks; their sums are added in order
  const int64_t even = ((n + kMaxPieces - 1) / kMaxPieces + kSumBlock - 1) / kSumBlock * kSumBlock;
  const int64_t piece = max_of(16 * kSumBlock, even), pieces = (n + piece - 1) / piece;
  double partial[kMaxPieces];
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    alignas(64) float buffer[kSumBlock];
    for (int64_t p = begin; p < end; p++) {
      partial[p] = 0;
      for_blocks(min_of(piece, n - p * piece), [&](int64_t i, int64_t count) {
        partial[p] += sum_squares_tile(read_tile(grad, p * piece + i, count, buffer), count);
      });
    }
  });
  double total = 0;
  for (int64_t p = 0; p < pieces; p++) total += partial[p];
  return total;
}

}  // namespace

extern const AdamwKernel adamw_kernel = {step, unscale, sum_squares};

}  // namespace dyadic::DY_ISA
