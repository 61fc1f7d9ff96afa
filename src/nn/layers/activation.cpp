#include "base/check.h"
#include "nn/layers/layers.h"

namespace dyadic::inline v1::nn {
namespace {

void make_gelu(Layer& self, Options) {
  const std::string_view how = self.text("approximate");
  DY_CHECK_AS(ValueError, how == "none" || how == "tanh", "GELU: unknown approximate \"{}\"; the known ones are none and tanh",
              how);
}
void make_prelu(Layer& self, Options options) {
  add_constant(self, "weight", {self.integer("num_parameters")}, self.real("init"), options);
}

constexpr LayerDef kActivationLayers[] = {
    {"ReLU(bool inplace=False)", "max(x, 0).", "relu"},
    {"GELU(str approximate='none')",
     "x Phi(x), Phi the distribution function of N(0, 1); approximate \"tanh\": with a tanh in its place.", "gelu", 0,
     make_gelu},
    {"Sigmoid()", "1 / (1 + exp(-x)).", "sigmoid"},
    {"Tanh()", "The hyperbolic tangent.", "tanh"},
    {"SiLU(bool inplace=False)", "x sigmoid(x).", "silu"},
    {"LeakyReLU(float negative_slope=0.01, bool inplace=False)", "x where positive, else negative_slope x.", "leaky_relu"},
    {"Softmax(int dim=-1)", "exp(x) over its sum along dim.", "softmax"},
    {"Softmin(int dim=-1)", "Softmax of -x.", "softmin"},
    {"LogSoftmax(int dim=-1)", "The logarithm of Softmax.", "log_softmax"},
    {"Softmax2d(int dim=-3)", "Softmax over the channels of [N, C, H, W].", "softmax"},
    {"ELU(float alpha=1.0, bool inplace=False)", "x where positive, else alpha (exp(x) - 1).", "elu"},
    {"CELU(float alpha=1.0, bool inplace=False)", "x where positive, else alpha (exp(x / alpha) - 1).", "celu"},
    {"SELU(bool inplace=False)", "ELU with the scale that keeps mean and variance.", "selu"},
    {"Hardshrink(float lambd=0.5)", "x outside of [-lambd, lambd], else 0.", "hardshrink"},
    {"Hardsigmoid(bool inplace=False)", "(x + 3) / 6 clamped to [0, 1].", "hardsigmoid"},
    {"Hardswish(bool inplace=False)", "x Hardsigmoid(x).", "hardswish"},
    {"Hardtanh(float min_val=-1.0, float max_val=1.0, bool inplace=False)", "x clamped to [min_val, max_val].", "hardtanh"},
    {"LogSigmoid()", "The logarithm of Sigmoid.", "logsigmoid"},
    {"Mish(bool inplace=False)", "x tanh(softplus(x)).", "mish"},
    {"ReLU6(bool inplace=False)", "x clamped to [0, 6].", "relu6"},
    {"Softplus(float beta=1.0, float threshold=20.0)", "log(1 + exp(beta x)) / beta.", "softplus"},
    {"Softshrink(float lambd=0.5)", "x moved by lambd towards 0.", "softshrink"},
    {"Softsign()", "x / (1 + |x|).", "softsign"},
    {"Tanhshrink()", "x - tanh(x).", "tanhshrink"},
    {"GLU(int dim=-1)", "The first half of dim times Sigmoid of the second.", "glu"},
    {"PReLU(int num_parameters=1, float init=0.25)", "x where positive, else weight x, one weight for all or for each channel.",
     "prelu", 0, make_prelu},
    {"RReLU(float lower=0.125, float upper=0.3333333333333333, bool inplace=False)",
     "LeakyReLU with a random slope from U(lower, upper) in training, else their mean.", "rrelu"},
    {"Threshold(float threshold, float value, bool inplace=False)", "x where above threshold, else value.", "threshold"},
};

}  // namespace

std::span<const LayerDef> activation_layers() { return kActivationLayers; }

}  // namespace dyadic::inline v1::nn
