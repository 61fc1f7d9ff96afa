// HQQ (Badri, Shaji 2023, "Half-Quadratic Quantization of Large Machine Learning Models"): the zero points that make the error
// small in an l_p norm with p < 1, which cares little for outliers. In turns: the error that is left, shrunk towards zero,
// counts as outliers; the zero point becomes the mean that fits the rest. No data is needed.
#include <cmath>

#include "base/check.h"
#include "dyadic/ops.h"
#include "formats/format.h"
#include "quant/codes.h"
#include "quant/methods.h"

namespace dyadic::inline v1::quant {
namespace {

constexpr double kPower = 0.7, kBeta = 10, kKappa = 1.01;  // the authors' defaults
constexpr int kTurns = 20;

// Whether a run of columns has one scale and one offset, both of them free.
bool has_free_offset(DType format) {
  const Format& f = *format.format();
  const int64_t width = f.params.block > 0 ? f.params.block : 32;
  const Tensor ramp = (arange(0, double(width), 1, f32) * (4.0 / double(width - 1)) - 1).view({1, width});
  const Affine a = affine_of(ramp.to(format));
  const Tensor top = a.offset + a.scale;
  const auto near = [](const Tensor& t, double wanted) { return max(abs(t - wanted)).item() < 0.4; };
  return near(a.offset, -1) && near(top, 3) && near(a.scale - select(a.scale, 1, 0), 0) &&
         max(abs(a.scale - select(a.scale, 1, 0))).item() == 0;
}

std::string refuses_hqq(DType format) {
  if (std::string why = refuses_without_codes(format); !why.empty()) return why;
  if (!code_map(format)->uniform) return fmt::format("{}'s codes are not evenly spaced; use q4_1 or i4(zero)", format.name());
  if (!has_free_offset(format))
    return fmt::format("{} has no zero points of its own that could be moved; use q4_1 or i4(zero)", format.name());
  return "";
}

Result run_hqq(const Task& t) {
  const int64_t rows = t.weight.size(0), cols = t.weight.size(1), width = own_columns(t.format, rows, cols);
  if (width == 0)
    return {to_nearest(t.weight, t.format), fmt::format("groups of {} are not independent here", t.format.name())};
  const std::vector<int64_t> shape{rows, cols / width, width};
  const Tensor rounded = to_nearest(t.weight, t.format), w = t.weight.view(shape);
  const double top = double(code_map(t.format)->level.size() - 1);
  const Affine a = affine_of(rounded);
  const Tensor step = amax(a.scale.view(shape), {2}, true) / top;
  const Tensor safe = where(gt(step, 0), step, ones_like(step));
  Tensor zero = neg(select(a.offset.view(shape), 2, 0).unsqueeze(2)) / safe;
  double beta = kBeta;
  for (int turn = 0; turn < kTurns; ++turn, beta *= kKappa) {
    const Tensor codes = clamp(round(w / safe + zero), 0, top);
    const Tensor left = w - safe * (codes - zero), size = abs(left);
    const Tensor outliers = sign(left) * relu(size - pow(clamp_min(size, 1e-12), kPower - 1) / beta);
    zero = mean(codes - (w - outliers) / safe, {2}, true);
  }
  // A group that spans from its lowest value to its highest gets just these from the format's encoder.
  const Tensor low = neg(zero * safe), high = low + safe * top;
  Tensor span = low.expand(shape).contiguous();
  narrow(span, 2, width - 1, 1).copy_(high);
  const Tensor moved = to_nearest(span.view({rows, cols}), t.format);
  choose_codes(moved, t.weight);
  const auto error = [&](const Tensor& q) { return sum(pow(abs(q.to(f32).view(shape) - w), kPower), {2}); };
  return {merge_runs(rounded, moved, lt(error(moved), error(rounded))), ""};
}

}  // namespace

extern const Method hqq_method;
const Method hqq_method = {
    .sig = "hqq()",
    .doc = "Moves zero points so that most weights are met well and outliers count little. Needs no data.",
    .source = "Badri, Shaji 2023, https://mobiusml.github.io/hqq_blog",
    .refuses = refuses_hqq,
    .run = run_hqq,
};

}  // namespace dyadic::inline v1::quant
