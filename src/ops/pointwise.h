// How a pointwise op becomes a record: one generic lambda for the result, one for each gradient. The lambda runs on SIMD
// vectors (the kernel: pointwise_tiles.h), on a Probe at compile time (its FLOPs, what backward must keep) and on Traced
// values. For op files only: they are compiled once per instruction set.
//
//   extern constexpr PointwiseOp expm1_op = pointwise<1, Types::float_out>(
//       {.sig = "expm1(Tensor self) -> Tensor", .doc = "exp(x) - 1, accurate near zero."},
//       [](auto x) { return expm1(x); },                       // result
//       [](auto g, auto x, auto y) { return g * (y + 1); });    // dL/dx of (gradient, inputs..., result)
//
// Scalar arguments of the signature follow as further parameters of every lambda: pointwise<1, Types::same, 1> has (x, alpha)
// and (g, x, y, alpha). An input without a gradient has no_grad in its place. holomorphic<...> is the same with complex
// numbers, with_complex(...) adds lambdas of their own for them.
#pragma once
#include "ops/pointwise_tiles.h"
#include "ops/traced.h"
#include "ops/variants.h"

namespace dyadic::inline v1 {
void plan_pointwise(Call& c);  // corridor/pointwise.cpp
}

namespace dyadic::DY_ISA {

template <class F, int N, int P, int... I, int... J>
Traced run_traced(const Traced* in, const Traced* params, Indices<I...>, Indices<J...>) {
  return F{}(in[I]..., params[J]...);
}
template <class F, int N, int P> Traced trace(const Traced* in, const Traced* params) {
  return run_traced<F, N, P>(in, params, typename MakeIndices<void, N>::type(), typename MakeIndices<void, P>::type());
}

// Whether this column's files carry the records.
#if DY_ISA_reference
inline constexpr bool kRecords = true;
#else
inline constexpr bool kRecords = false;
#endif
using PointwiseOp = PointwiseRecord<kRecords>;

// (O is PointwiseOp: what lacks a record is then never looked at.)
template <int N, int P, class B, class O> constexpr void set_gradient(O& o, int k, B) {
  if constexpr (!__is_same(B, NoGradient)) {
    constexpr Cost c = measure<B, N + 2, P>();
    Tiles& t = o.kernel.grad[k];
    t.forward[int(Compute::f32)] = tile<B, float, N + 2, P, c.used>;
    t.forward[int(Compute::f64)] = tile<B, double, N + 2, P, c.used>;
    t.forward_bf16 = bf16_tile<B, N + 2, P, c.used, false>;
    if constexpr (kRecords) {
      OpDef& def = o.def;
      def.pw.trace_grad[k] = trace<B, N + 2, P>;
      def.pw.grads |= uint8_t(1u << k);
      def.pw.grad_flops[k] = c.flops;
      def.pw.grad_is_g[k] = c.identity;
      for (int i = 0; i < N; ++i)
        if (c.used >> (1 + i) & 1) def.needs[k] |= in(i);
      if (c.used >> (1 + N) & 1) def.needs[k] |= out(0);
    }
  }
}

template <int N, Types types, int P, class F, bool kFloats, class O> constexpr void set_facts(O& op, OpInfo info, Cost c) {
  OpDef& o = op.def;
  o.sig = info.sig;
  o.doc = info.doc;
  o.aliases = info.aliases;
  o.variant = info.variant;
  o.kind = OpKind::pointwise;
  o.types = types;
  o.amp = info.amp;
  o.inplace = info.inplace;
  o.internal = info.internal;
  o.low = info.low;
  o.high = info.high;
  o.samples = info.samples;
  o.bad = info.bad;
  o.skip = info.skip;
  o.complex = info.complex;
  o.pw.inputs = N;
  o.pw.bits = info.bits;
  o.pw.params = P;
  o.pw.flops = c.flops;
  if constexpr (kFloats) o.pw.trace = trace<F, N, P>;
  if constexpr (kFloats) o.pw.computes |= 1u << int(Compute::f32) | 1u << int(Compute::f64);
  if constexpr (types != Types::float_out)
    o.pw.computes |= 1u << int(Compute::i32) | 1u << int(Compute::i64) | 1u << int(Compute::u64);
}

template <int N, Types types, int P = 0, class F, class... B> constexpr PointwiseOp pointwise(OpInfo info, F, B... gradients) {
  static_assert(sizeof...(B) == 0 || sizeof...(B) == N, "one gradient (or no_grad) per tensor input");
  PointwiseOp o{};
  constexpr Cost c = measure<F, N, P>();
  constexpr bool kFloats = takes_floats<F, N, P>;
  if constexpr (kRecords) set_facts<N, types, P, F, kFloats>(o, info, c);
  o.kernel.plan = plan_pointwise;
  Tiles& t = o.kernel.tiles;
  if constexpr (kFloats) {
    constexpr bool kOne = N == 2 && c.flops < 10;  // where reading may take longer than computing
    t.forward[int(Compute::f32)] = tile<F, float, N, P, c.used, kOne>;
    t.forward[int(Compute::f64)] = tile<F, double, N, P, c.used, kOne>;
    t.takes_one = kOne;
    t.forward_bf16 = bf16_tile<F, N, P, c.used, c.fits_bf16>;
  }
  if constexpr (types != Types::float_out) {
    t.forward[int(Compute::i32)] = tile<F, int32_t, N, P, c.used>;
    t.forward[int(Compute::i64)] = tile<F, int64_t, N, P, c.used>;
    t.forward[int(Compute::u64)] = tile<F, uint64_t, N, P, c.used>;
    t.forward_narrow[kU8] = narrow_tile<F, uint8_t, N, P, c.wraps()>;
    t.forward_narrow[kI8] = narrow_tile<F, int8_t, N, P, c.wraps()>;
    t.forward_narrow[kI16] = narrow_tile<F, int16_t, N, P, c.wraps()>;
  }
  int k = 0;
  (set_gradient<N, P>(o, k++, gradients), ...);
  (void)k;
  return o;
}

template <int N, int P, class B, class O> constexpr void set_complex_gradient(O& o, int k, B) {
  if constexpr (!__is_same(B, NoGradient)) {
    constexpr Cost c = measure_complex<B, N + 2, P>();
    o.kernel.grad[k].forward[int(Compute::c64)] = complex_tile<B, float, N + 2, P, c.used>;
    o.kernel.grad[k].forward[int(Compute::c128)] = complex_tile<B, double, N + 2, P, c.used>;
    if constexpr (kRecords) {
      o.def.pw.complex_grad_flops[k] = c.flops;
      o.def.needs[k] |= uint16_t(c.used >> 1 & ((1u << N) - 1)) | (c.used >> (1 + N) & 1 ? out(0) : 0);
    }
  }
}

// The op on complex numbers too: its own lambdas for result and gradients (dL/dRe + i dL/dIm, as PyTorch's).
template <int N, int P = 0, class O, class F, class... B> constexpr O with_complex(O o, F, B... gradients) {
  constexpr Cost c = measure_complex<F, N, P>();
  o.kernel.tiles.forward[int(Compute::c64)] = complex_tile<F, float, N, P, c.used>;
  o.kernel.tiles.forward[int(Compute::c128)] = complex_tile<F, double, N, P, c.used>;
  if constexpr (kRecords) {
    o.def.pw.computes |= 1u << int(Compute::c64) | 1u << int(Compute::c128);
    o.def.pw.complex_flops = c.flops;
    o.def.pw.real_of_complex = o.def.types != Types::compare && gives_reals<F, N, P>;
  }
  int k = 0;
  (set_complex_gradient<N, P>(o, k++, gradients), ...);
  (void)k;
  return o;
}

template <int N, Types types, int P = 0, class F, class... B>
constexpr PointwiseOp holomorphic(OpInfo info, F f, B... gradients) {
  return with_complex<N, P>(pointwise<N, types, P>(info, f, gradients...), f, conjugated(gradients)...);
}

}  // namespace dyadic::DY_ISA
