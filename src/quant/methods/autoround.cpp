// AutoRound (Cheng, Zhang, Shen, Cai, He, Lv, Liu 2023, "Optimize Weight Rounding via Signed Gradient Descent for the
// Quantization of LLMs", arXiv:2309.05516): every weight learns where between its two neighbours it is rounded up. A weight w
// becomes what is nearest to w + v g, g the distance of the neighbours and v in [-1/2, 1/2]; v goes against the sign of the
// gradient, in steps that shrink to nothing and add up to 1/2. The gradient is that of the layer's own output: of D H D^T with
// D = Q - W and H = sum of x x^T, 2 D H, so that the rows of inputs are read once. A row keeps the best that it came by.
#include <algorithm>

#include "base/check.h"
#include "base/parallel.h"
#include "dyadic/ops.h"
#include "quant/codes.h"
#include "quant/methods.h"

namespace dyadic::inline v1::quant {
namespace {

// How far the two values lie apart that each of w can become.
Tensor distances(const Tensor& w, const Affine& a, const CodeMap& map) {
  const Tensor scale = a.scale.contiguous(), offset = a.offset.contiguous(), out = empty_like(w);
  const float *x = w.data<float>(), *s = scale.data<float>(), *o = offset.data<float>();
  float* g = out.data<float>();
  parallel_for(w.numel(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto above = std::upper_bound(map.level.begin() + 1, map.level.end() - 1, s[i] != 0 ? (x[i] - o[i]) / s[i] : 0);
      g[i] = std::abs(s[i]) * (above[0] - above[-1]);
    }
  });
  return out;
}

Result run_autoround(const Task& t) {
  if (auto few = without_rows(t, "autoround")) return *few;
  const Tensor importance = importance_of(*t.inputs), &w = t.weight;
  const Tensor h = t.inputs->products() / double(t.inputs->rows()) + diag(importance * number(t, "damping"));
  const Tensor stored = with_searched_scales(w, importance, t.format);
  const Tensor distance = distances(w, affine_of(stored), *code_map(t.format));
  Tensor v = zeros_like(w), q = stored.to(f32), best = q, least;
  const int steps = int(number(t, "steps"));
  for (int step = 0;; ++step) {
    const Tensor error = q - w, gradient = matmul(error, h), cost = sum(error * gradient, {1}, true);
    if (step > 0) best = where(lt(cost, least), q, best);
    least = step > 0 ? minimum(cost, least) : cost;
    if (step == steps) break;
    const double rate = double(steps - step) / (double(steps) * (steps + 1));  // 1/2 in all
    v = clamp(v - sign(gradient) * rate, -0.5, 0.5);
    choose_codes(stored, w + v * distance);
    q = stored.to(f32);
  }
  choose_codes(stored, best);
  return {stored, ""};
}

}  // namespace

extern const Method autoround_method;
const Method autoround_method = {
    .sig = "autoround(int steps=200, float damping=0.01)",
    .doc =
        "Learns of every weight whether it is rounded up or down, by signed gradient descent on the layer's output; scales are "
        "imatrix's.\n"
        "steps: of the descent. damping: how much each column's own error counts beside the output's, a share of its inputs' "
        "mean square.",
    .source = "Cheng et al. 2023, arXiv:2309.05516",
    .needs_inputs = true,
    .refuses = refuses_without_codes,
    .run = run_autoround,
};

}  // namespace dyadic::inline v1::quant
