// q2_K, q4_K and q5_K: sub-blocks x = scale code + min, min <= 0, whose scales and minima are integers of the super-block's two
// f16 scales. The search (ggml's make_qkx2_quants) tries inverse scales around (top / (max - min)), fits scale and minimum to
// each one's codes by weighted least squares, and keeps what has the least weighted error.
#pragma once
#include "formats/block/super.h"

namespace dyadic::DY_ISA {

struct AffineRule {
  int n, top;         // elements of a sub-block; the largest code
  float first, step;  // added to top in the inverse scales tried
  int steps;          // there are steps + 1
  bool absolute;      // errors |x - y|, else their squares
};

struct AffineFit {             // of a super-block's sub-blocks
  float scale[16], depth[16];  // depth: -min
  // What gave the codes: clamp(nearest_int(inverse * (x - low))); inverse 0 for constant sub-blocks, whose codes are 0.
  float inverse[16], low[16];
};

// One lane's state during the search.
struct AffineSearch {
  const AffineRule& rule;
  const Column &x, &weight;
  VF low, high, sum_w, sum_x;

  AffineSearch(const AffineRule& r, const Column& x, const Column& weight) : rule(r), x(x), weight(weight) {
    low = high = x[0];
    sum_w = weight[0];
    sum_x = hn::Mul(sum_w, low);
    for (int i = 1; i < r.n; ++i) {
      low = hn::IfThenElse(hn::Lt(x[i], low), x[i], low);
      high = hn::IfThenElse(hn::Gt(x[i], high), x[i], high);
      sum_w = hn::Add(sum_w, weight[i]);
      sum_x = hn::Add(sum_x, hn::Mul(weight[i], x[i]));
    }
    low = hn::IfThenZeroElse(hn::Gt(low, hn::Zero(kF32)), low);
  }
  VF code(int i, VF inverse) const {
    const VI l = nearest_int(hn::Mul(inverse, hn::Sub(x[i], low)));
    return hn::ConvertTo(kF32, clamp(l, hn::Zero(kI32), hn::Set(kI32, rule.top)));
  }
  VF error(const Column& codes, VF scale, VF min) const {
    VF sum = hn::Zero(kF32);
    for (int i = 0; i < rule.n; ++i) {
      const VF e = hn::Sub(hn::Add(hn::Mul(scale, codes[i]), min), x[i]);
      sum = hn::Add(sum, hn::Mul(weight[i], rule.absolute ? hn::Abs(e) : hn::Mul(e, e)));
    }
    return sum;
  }

  void run(float* scale_out, float* depth_out, float* inverse_out, float* low_out) {
    const VF zero = hn::Zero(kF32), one = hn::Set(kF32, 1.0f);
    const auto constant = hn::Eq(high, low);
    Column codes;
    VF inverse = hn::Div(hn::Set(kF32, float(rule.top)), hn::Sub(high, low)), best_inverse = inverse, best_low = low;
    VF scale = hn::Div(one, inverse);
    for (int i = 0; i < rule.n; ++i) codes.set(i, code(i, inverse));
    VF least = error(codes, scale, low);
    const VF depth_of_constant = hn::Neg(low);
    for (int step = 0; step <= rule.steps; ++step) {
      inverse = hn::Div(hn::Set(kF32, rule.first + rule.step * float(step) + float(rule.top)), hn::Sub(high, low));
      VF sum_l = zero, sum_l2 = zero, sum_xl = zero;
      for (int i = 0; i < rule.n; ++i) {
        const VF l = code(i, inverse), wl = hn::Mul(weight[i], l);
        codes.set(i, l);
        sum_l = hn::Add(sum_l, wl);
        sum_l2 = hn::Add(sum_l2, hn::Mul(wl, l));
        sum_xl = hn::Add(sum_xl, hn::Mul(wl, x[i]));
      }
      const VF det = hn::Sub(hn::Mul(sum_w, sum_l2), hn::Mul(sum_l, sum_l));
      VF fit = hn::Div(hn::Sub(hn::Mul(sum_w, sum_xl), hn::Mul(sum_x, sum_l)), det);
      VF min = hn::Div(hn::Sub(hn::Mul(sum_l2, sum_x), hn::Mul(sum_l, sum_xl)), det);
      const auto positive = hn::Gt(min, zero);
      fit = hn::IfThenElse(positive, hn::Div(sum_xl, sum_l2), fit);
      min = hn::IfThenZeroElse(positive, min);
      const VF e = error(codes, fit, min);
      const auto better = hn::And(hn::Gt(det, zero), hn::Lt(e, least));
      least = hn::IfThenElse(better, e, least);
      scale = hn::IfThenElse(better, fit, scale);
      best_inverse = hn::IfThenElse(better, inverse, best_inverse);
      best_low = hn::IfThenElse(better, low, best_low);
      low = hn::IfThenElse(better, min, low);
    }
    hn::StoreU(hn::IfThenZeroElse(constant, scale), kF32, scale_out);
    hn::StoreU(hn::IfThenElse(constant, depth_of_constant, hn::Neg(low)), kF32, depth_out);
    hn::StoreU(hn::IfThenZeroElse(constant, best_inverse), kF32, inverse_out);
    hn::StoreU(hn::IfThenElse(constant, hn::Zero(kF32), best_low), kF32, low_out);
  }
};

// Fits `count` super-blocks. weigh(x, weights) fills the elements' weights. With 32 elements to a sub-block two super-blocks
// fill the 16 lanes of AVX-512.
template <class Weigh> void affine_fit(const AffineRule& rule, const float* in, int64_t count, AffineFit* fits, Weigh weigh) {
  const int64_t per_super = kSuper / rule.n, all = count * per_super;
  for (int64_t first = 0; first < all; first += kLanes) {
    Column x, weight;
    load_column(in + first * rule.n, rule.n, all - first, x);
    weigh(x, weight);
    alignas(64) float scale[kLanes], depth[kLanes], inverse[kLanes], low[kLanes];
    AffineSearch(rule, x, weight).run(scale, depth, inverse, low);
    for (int64_t i = 0; i < kLanes && first + i < all; ++i) {
      AffineFit& f = fits[(first + i) / per_super];
      const int64_t j = (first + i) % per_super;
      f.scale[j] = scale[i], f.depth[j] = depth[i], f.inverse[j] = inverse[i], f.low[j] = low[i];
    }
  }
}

// The largest of n, at least 0.
inline float largest_of(const float* v, int64_t n) {
  float most = 0;
  for (int64_t i = 0; i < n; ++i)
    if (v[i] > most) most = v[i];
  return most;
}

// The final codes of sub-block j for its scale d and depth as they are stored; a scale of 0 leaves those of the search.
inline void affine_codes(const AffineRule& rule, const float* x, const AffineFit& fit, int64_t j, float d, float depth,
                         uint8_t* codes) {
  if (d != 0) return divide_codes(x, rule.n, d, depth, 0, rule.top, codes);
  for (int i = 0; i < rule.n; ++i)
    codes[i] = fit.inverse[j] == 0 ? 0 : uint8_t(clamp(nearest_int(fit.inverse[j] * (x[i] - fit.low[j])), 0, rule.top));
}

}  // namespace dyadic::DY_ISA
