#include "base/check.h"
#include "nn/layers/layers.h"

namespace dyadic::inline v1::nn {
namespace {

void check_probability(Layer& self, Options) {
  const double p = self.real("p");
  DY_CHECK_AS(ValueError, p >= 0 && p <= 1, "{}: p is not a probability: p is {}", self.kind(), p);
}

constexpr LayerDef kDropoutLayers[] = {
    {"Dropout(float p=0.5, bool inplace=False)",
     "In training each element is zeroed with probability p and the rest scaled by 1 / (1 - p).", "dropout", 0,
     check_probability},
    {"Dropout1d(float p=0.5, bool inplace=False)",
     "In training whole channels are zeroed with probability p and the rest scaled by 1 / (1 - p).", "dropout1d", 0,
     check_probability},
    {"Dropout2d(float p=0.5, bool inplace=False)",
     "In training whole channels are zeroed with probability p and the rest scaled by 1 / (1 - p).", "dropout2d", 0,
     check_probability},
    {"Dropout3d(float p=0.5, bool inplace=False)",
     "In training whole channels are zeroed with probability p and the rest scaled by 1 / (1 - p).", "dropout3d", 0,
     check_probability},
    {"AlphaDropout(float p=0.5, bool inplace=False)", "Dropout towards SELU's lower limit; mean and variance stay.",
     "alpha_dropout", 0, check_probability},
    {"FeatureAlphaDropout(float p=0.5, bool inplace=False)", "AlphaDropout of whole channels.", "feature_alpha_dropout", 0,
     check_probability},
};

}  // namespace

std::span<const LayerDef> dropout_layers() { return kDropoutLayers; }

}  // namespace dyadic::inline v1::nn
