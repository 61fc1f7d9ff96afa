// The fused AdamW step. Everything of a tile of 1024 elements happens while it is in the first-level cache; what is stored as
// f32 is computed on in place.
#include "optim/adamw_kernel.h"

#include "base/simd/simd.h"
#include "formats/block/dynamic8.h"
#include "loops/lanes.h"
#include "optim/adamw_math.h"

namespace dyadic::DY_ISA {
namespace {

using namespace adamw;
constexpr int64_t kStepTile = 4 * kAdamwBlock;
constexpr int64_t kGrainBlocks = 64;
constexpr int64_t kAhead = 1024;  // of the work on codes the processor's own prefetching is too late: measured 1.2x

// A part of the arrays, as floats. Parameters stored as f32 are updated in place (updated == param) and counted at once; others
// go to `updated`, and their step to `moved`, to be rounded and counted afterwards.
struct Tile {
  const float *grad, *param;
  float *m, *v, *updated, *moved;
};

// The meter in lanes, for at most a tile.
struct Meter {
  VI nonzero = hn::Zero(kI32), lost = nonzero;
  DY_INLINE void add_to(UpdateCount& counts) const {
    counts.nonzero += hn::GetLane(hn::SumOfLanes(kI32, nonzero));
    counts.lost += hn::GetLane(hn::SumOfLanes(kI32, lost));
  }
};

template <bool kRounds> DY_INLINE void update(const Constants& c, Tile t, int64_t n, UpdateCount& counts) {
  Meter mine;
  for_vectors<float>(n, [&](auto access, int64_t i) {
    const V p = access.load(t.param + i);
    const Step s = advance(c, access.load(t.grad + i), p, access.load(t.m + i) * V(c.beta1), access.load(t.v + i) * V(c.beta2));
    access.store(t.m + i, s.m);
    access.store(t.v + i, s.v);
    access.store(t.updated + i, s.next);
    if constexpr (kRounds) {
      access.store(t.moved + i, s.moved);
    } else {
      const auto real = access.only(Mask<float>(hn::Ne(s.moved.v, hn::Zero(kF32))));
      mine.nonzero = count_if(mine.nonzero, real.m);
      mine.lost = count_if(mine.lost, (real & (s.next == p)).m);
    }
  });
  mine.add_to(counts);
}

// A block's 8-bit states. m and v are buffers of one block.
struct Codes {
  uint8_t *m, *v;
  float *m_absmax, *v_absmax;
};

using VU = hn::Vec<hn::Repartition<uint32_t, F32>>;
constexpr hn::Repartition<uint32_t, F32> kU32{};

DY_INLINE float largest_magnitude(VU bits) { return bits_absmax(hn::GetLane(hn::MaxOfLanes(kU32, bits)) & kAbsMask); }

// Which elements of a block the step left where they were: few while training goes well, so the loop only notes them.
struct Unmoved {
  alignas(8) uint16_t lanes[kAdamwBlock / V::size()];

  // Counts them; t's m and v are the new ones.
  DY_INLINE void count(const Constants& c, const Tile& t, UpdateCount& counts) const {
    counts.nonzero += kAdamwBlock;
    uint16_t any = 0;
    for (uint16_t bits : lanes) any |= bits;
    if (any) count_lanes(c, t, counts);
  }

 private:
  [[gnu::noinline]] void count_lanes(const Constants& c, const Tile& t, UpdateCount& counts) const {
    for (int64_t i = 0; i < kAdamwBlock; i += V::size()) {
      const V step = whole_step(c, V::load(t.updated + i), adam(c, V::load(t.m + i), V::load(t.v + i)));
      const uint32_t here = lanes[i / V::size()], still = here & mask_bits((step == V(0)).m);
      counts.nonzero -= __builtin_popcount(still);
      counts.lost += __builtin_popcount(here & ~still);
    }
  }
};

// Any n, any values.
[[gnu::noinline]] void encode_codes(const Tile& t, const Codes& codes, int64_t n) {
  SignedDynamic8::encode(t.m, codes.m, n, *codes.m_absmax);
  UnsignedDynamic8::encode(t.v, codes.v, n, *codes.v_absmax);
}

DY_INLINE bool is_ordinary(float absmax) { return absmax >= kTiny && finite(absmax); }  // as Dynamic8::encode asks

// A whole block: decoding, the step and the new scale in one loop, so that the divider works while codes are decoded. False if
// the new states, which are in the buffers, are still to be encoded.
template <bool kRounds> DY_INLINE bool update_block(const Constants& c, Tile t, const Codes& codes, UpdateCount& counts) {
  Unmoved unmoved;
  const SignedDynamic8::Scaled old_m(*codes.m_absmax * c.beta1);
  const UnsignedDynamic8::Scaled old_v(*codes.v_absmax * c.beta2);
  VU m_most = hn::Zero(kU32), v_most = m_most;  // the largest magnitudes as integers: NaN > inf > finite; v has no sign
  for (int64_t i = 0; i < kAdamwBlock; i += V::size()) {
    __builtin_prefetch(t.param + i + kAhead);
    __builtin_prefetch(t.grad + i + kAhead);
    if (i % 64 == 0) {
      __builtin_prefetch(codes.m + i + kAhead);
      __builtin_prefetch(codes.v + i + kAhead);
    }
    const V p = V::load(t.param + i);
    const Step s = advance(c, V::load(t.grad + i), p, V(old_m(codes.m + i)), V(old_v(codes.v + i)));
    s.m.store(t.m + i);
    s.v.store(t.v + i);
    m_most = hn::Max(m_most, hn::BitCast(kU32, hn::Abs(s.m.v)));
    v_most = hn::Max(v_most, hn::BitCast(kU32, s.v.v));
    s.next.store(t.updated + i);
    if constexpr (kRounds)
      s.moved.store(t.moved + i);
    else
      unmoved.lanes[i / V::size()] = static_cast<uint16_t>(mask_bits((s.next == p).m));
  }
  *codes.m_absmax = largest_magnitude(m_most);
  *codes.v_absmax = largest_magnitude(v_most);
  if constexpr (!kRounds) unmoved.count(c, t, counts);
  const bool ordinary = is_ordinary(*codes.m_absmax) && is_ordinary(*codes.v_absmax);
  if (ordinary) {
    SignedDynamic8::encode_fours(t.m, codes.m, kAdamwBlock, V(1.0f / *codes.m_absmax).v);
    UnsignedDynamic8::encode_fours(t.v, codes.v, kAdamwBlock, V(1.0f / *codes.v_absmax).v);
  }
  return ordinary;
}

// Elements [at, at + n) of arrays with 8-bit states, at a multiple of kAdamwBlock; t names everything but m and v.
template <bool kRounds>
void update_codes(const AdamwArrays& a, const Constants& c, Tile t, int64_t at, int64_t n, UpdateCount& counts) {
  alignas(64) float m[kAdamwBlock], v[kAdamwBlock];
  t.m = m;
  t.v = v;
  for (int64_t i = 0; i < n; i += kAdamwBlock) {
    const int64_t block = (at + i) / kAdamwBlock, count = min_of(kAdamwBlock, n - i);
    const Codes codes{static_cast<uint8_t*>(a.m.data) + at + i, static_cast<uint8_t*>(a.v.data) + at + i, a.m.absmax + block,
                      a.v.absmax + block};
    bool encoded = false;
    if (count == kAdamwBlock) {
      encoded = update_block<kRounds>(c, t, codes, counts);
    } else {
      SignedDynamic8::decode(codes.m, *codes.m_absmax, m, count);
      UnsignedDynamic8::decode(codes.v, *codes.v_absmax, v, count);
      update<kRounds>(c, t, count, counts);
      *codes.m_absmax = SignedDynamic8::absmax(m, count);
      *codes.v_absmax = UnsignedDynamic8::absmax(v, count);
    }
    if (!encoded) encode_codes(t, codes, count);
    t.grad += count;
    t.param += count;
    t.updated += count;
    t.moved += kRounds ? count : 0;
  }
}

template <bool kRounds>
void update_tile(const AdamwArrays& a, const Constants& c, Tile t, int64_t at, int64_t n, UpdateCount& counts) {
  if (a.m.absmax) return update_codes<kRounds>(a, c, t, at, n, counts);
  t.m = static_cast<float*>(a.m.data) + at;
  t.v = static_cast<float*>(a.v.data) + at;
  update<kRounds>(c, t, n, counts);
}

void count_rounded(const float* moved, const float* before, const float* after, int64_t n, UpdateCount& counts) {
  UpdateCount mine;
  for_vectors<float>(n, [&](auto access, int64_t i) {
    const auto real = access.only(access.load(moved + i) != V(0));
    mine.nonzero += int64_t(count(real));
    mine.lost += int64_t(count(real & (access.load(before + i) == access.load(after + i))));
  });
  counts.nonzero += mine.nonzero;
  counts.lost += mine.lost;
}

// Elements [at, at + n), at a multiple of kAdamwBlock, n <= kStepTile.
void step_tile(const AdamwArrays& a, const Constants& c, Round rounding, int64_t at, int64_t n, UpdateCount& counts) {
  alignas(64) float grad[kStepTile], param[kStepTile], updated[kStepTile], moved[kStepTile];
  Tile t{};
  t.grad = read_tile(a.grad, at, n, grad);
  if (stores<float>(a.param.format)) {
    t.updated = static_cast<float*>(a.param.data) + at;
    t.param = t.updated;
    return update_tile<false>(a, c, t, at, n, counts);
  }
  const FormatDef& def = *a.param.format->def;
  void* stored = element(a.param, at);
  def.decode(stored, param, n);
  t.param = param;
  t.updated = updated;
  t.moved = moved;
  update_tile<true>(a, c, t, at, n, counts);
  rounding.index += static_cast<uint64_t>(at);
  def.encode(updated, stored, n, rounding);
  def.decode(stored, updated, n);
  count_rounded(moved, param, updated, n, counts);
}

UpdateCount step(const AdamwArrays& a, const AdamwStep& step) {
  const Constants c(step);
  UpdateCount total;
  parallel_for((a.n + kAdamwBlock - 1) / kAdamwBlock, kGrainBlocks, [&](int64_t begin, int64_t end) {
    UpdateCount mine;
    const int64_t stop = min_of(a.n, end * kAdamwBlock);
    for (int64_t at = begin * kAdamwBlock; at < stop; at += kStepTile)
      step_tile(a, c, step.rounding, at, min_of(kStepTile, stop - at), mine);
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
