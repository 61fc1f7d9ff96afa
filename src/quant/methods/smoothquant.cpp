// SmoothQuant (Xiao, Lin, Seznec, Wu, Demouth, Han 2022, "SmoothQuant: Accurate and Efficient Post-Training Quantization for
// Large Language Models", arXiv:2211.10438): what makes inputs hard to quantize goes into the weights, which are easy:
// s_j = max |x_j|^alpha / max |w_j|^(1 - alpha) (equation 4).
#include "dyadic/ops.h"
#include "quant/methods.h"

namespace dyadic::inline v1::quant {
namespace {

constexpr double kLeast = 1e-5;

Tensor scale(const Task& t) {
  const double alpha = number(t, "alpha");
  const Tensor x = clamp_min(t.inputs->largest(), kLeast), w = clamp_min(amax(abs(t.weight), {0}), kLeast);
  return clamp_min(pow(x, alpha) / pow(w, 1 - alpha), kLeast);
}

}  // namespace

extern const Method smoothquant_method;
const Method smoothquant_method = {
    .sig = "smoothquant(float alpha=0.5)",
    .doc =
        "Moves outliers of the inputs into the weights, so that both can be rounded to 8 bits.\n"
        "alpha: how much of them, 0 (none) to 1. In a model the scales go into the norm or the layer before.",
    .source = "Xiao et al. 2022, arXiv:2211.10438",
    .needs_inputs = true,
    .refuses = refuses_unencodable,
    .run = [](const Task& t) -> Result { return {to_nearest(t.weight, t.format), ""}; },
    .input_scale = scale,
};

}  // namespace dyadic::inline v1::quant
