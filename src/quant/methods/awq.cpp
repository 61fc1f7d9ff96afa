// AWQ (Lin, Tang, Tang, Yang, Dang, Gan, Han 2023, "AWQ: Activation-aware Weight Quantization for LLM Compression and
// Acceleration", arXiv:2306.00978): columns that large inputs meet are made larger before rounding, and those inputs smaller by
// as much. The scales are powers of the inputs' mean magnitude, the exponent is searched (section 3.2); then the magnitude at
// which each group of weights is cut off.
#include <cmath>

#include "base/check.h"
#include "dyadic/ops.h"
#include "quant/codes.h"
#include "quant/methods.h"

namespace dyadic::inline v1::quant {
namespace {

constexpr int kCuts = 10;             // limits tried: 1, 0.95 ... of the largest weight
constexpr double kLeastScale = 1e-4;  // of a column whose inputs are zero

Tensor search_scale(const Task& t) {
  const Tensor magnitude = t.inputs->mean_magnitude();
  const int steps = int(number(t, "steps"));
  Tensor best = ones_like(magnitude);
  double least = INFINITY;
  for (int k = 0; k < steps; ++k) {
    Tensor s = clamp_min(pow(magnitude, double(k) / steps), kLeastScale);
    s = s / sqrt(max(s) * min(s));
    const double error = output_error(t.weight, to_nearest(t.weight * s, t.format).to(f32) / s, t.inputs);
    if (error < least) least = error, best = s;
  }
  return best;
}

// Each run of columns that shares its scales, cut off where its part of the output is nearest to what it was.
Tensor clipped(const Task& t) {
  const int64_t width = own_columns(t.format, t.weight.size(0), t.weight.size(1));
  if (width == 0) return t.weight;
  std::vector<Tensor> all;
  for (int64_t first = 0; first < t.weight.size(1); first += width) {
    const Tensor w = narrow(t.weight, 1, first, width).contiguous(), largest = amax(abs(w), {1}, true);
    const Tensor products = narrow(narrow(t.inputs->products(), 0, first, width), 1, first, width).contiguous();
    Tensor best = w, least = full({w.size(0), 1}, INFINITY, f32);
    for (int k = 0; k < kCuts; ++k) {
      const Tensor limit = largest * (1 - 0.05 * k), cut = minimum(maximum(w, neg(limit)), limit);
      const Tensor e = to_nearest(cut, t.format).to(f32) - w, error = sum(matmul(e, products) * e, {1}, true);
      const Tensor better = lt(error, least);
      best = where(better, cut, best), least = where(better, error, least);
    }
    all.push_back(best);
  }
  return cat(all, 1);
}

Result run_awq(const Task& t) { return {to_nearest(t.options.flag("clip") ? clipped(t) : t.weight, t.format), ""}; }

}  // namespace

extern const Method awq_method;
const Method awq_method = {
    .sig = "awq(int steps=20, bool clip=True)",
    .doc =
        "Scales columns up where inputs are large, and the inputs down, before rounding to nearest.\n"
        "steps: exponents tried, from 0 (no scales) on. clip: the largest weights of each group are cut off where that brings "
        "the "
        "output nearer. In a model the scales go into the norm or the layer before; where there is none that takes them, "
        "weights "
        "are only clipped.",
    .source = "Lin et al. 2023, arXiv:2306.00978",
    .needs_inputs = true,
    .refuses = refuses_unencodable,
    .run = run_awq,
    .input_scale = search_scale,
};

}  // namespace dyadic::inline v1::quant
