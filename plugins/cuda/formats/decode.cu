// Blocked tensors decoded into scalar ones of any layout.
#include "plugins/cuda/formats/decode.h"

#include "plugins/cuda/copies/saturate.h"
#include "plugins/cuda/formats/coding.h"

namespace dyadic::gpu {

namespace {

constexpr int kThreads = 256, kRun = 8;

struct Decoding {
  Blocked from;
  Code to;
  Space<2> space;  // the target, storage order
  int64_t origin;  // the first element there
  Round round;
  double max;  // of the target's format
  bool plain;  // rounds to nearest
};
template <class V> __device__ __forceinline__ V value_of(const Blocked& b, const uint8_t* at, int64_t i) {
  if constexpr (std::is_same_v<V, float>)
    return blocked_value(b, at, i);
  else
    return packed_integer(b, at, i);
}
template <class V, bool kPlain>
__global__ void __launch_bounds__(kThreads) decode_elements(Decoding p, const uint8_t* from, void* to) {
  for (int64_t i = first_thread(); i < p.space.count; i += all_threads()) {
    int64_t at[2];
    p.space.offsets(i, at);
    const V x = value_of<V>(p.from, from, p.origin + at[1]);
    if constexpr (kPlain) {
      store(p.to, to, at[0], x);
    } else {
      const Rounder rounder(p.round, uint64_t(i));
      with_element(p.to, [&](auto e) {
        using E = decltype(e);
        static_cast<typename E::Stored*>(to)[at[0]] = rounded_within<E>(x, p.max, rounder);
      });
    }
  }
}
// Runs that are dense on both sides, into the formats that are computed with.
template <class E> __global__ void __launch_bounds__(kThreads) decode_runs(Decoding p, const uint8_t* from, void* to) {
  for (int64_t i = first_thread(); i < p.space.count; i += all_threads()) {
    int64_t at[2];
    p.space.offsets(i, at);
    float x[kRun];
    for (int k = 0; k < kRun; ++k) x[k] = blocked_value(p.from, from, p.origin + at[1] + k);
    store_run<E>(to, at[0], x);
  }
}

}  // namespace

void decode(const Operand& target, const Operand& source, const Blocked& from, const Round& round, void* to, const void* at) {
  Decoding p{from,
             code_of(target.format),
             {},
             source.offset,
             round,
             target.format->def->max,
             round.mode == Rounding::nearest && round.overflow == Overflow::standard};
  if (target.count == 0) return;
  for (int d = 0; d < target.ndim; ++d)
    p.space.add(target.lengths[d], {target.steps[d], broadcast_step(source, target.ndim, d)});
  p.space.finish();
  auto* stored = static_cast<const uint8_t*>(at);
  const bool integers = from.layout == Layout::packed_integer;
  Space<2> runs = p.space;
  if (!integers && p.plain && p.space.inner_dense() && is_aligned(to) && runs.cut(kRun)) {
    bool aligned = true;
    for (int d = 0; d < runs.ndim - 1; ++d) aligned = aligned && runs.stride[0][d] % kRun == 0;
    const auto run = [&](auto e) {
      p.space = runs;
      launch(decode_runs<decltype(e)>, grid_for(runs.count, 1, kThreads), p, stored, to);
    };
    if (aligned && p.to == Code::f32) return run(ElementOf<Code::f32>{});
    if (aligned && p.to == Code::bf16) return run(ElementOf<Code::bf16>{});
    if (aligned && p.to == Code::f16) return run(ElementOf<Code::f16>{});
  }
  const auto each = [&](auto kernel) { launch(kernel, grid_for(p.space.count, 1, kThreads), p, stored, to); };
  if (integers)
    p.plain ? each(decode_elements<int32_t, true>) : each(decode_elements<int32_t, false>);
  else
    p.plain ? each(decode_elements<float, true>) : each(decode_elements<float, false>);
}

}  // namespace dyadic::gpu
