#include "nn/layers/layers.h"

namespace dyadic::inline v1::nn {
namespace {

constexpr LayerDef kLayers[] = {
    {"Dropout1d(float p=0.5, bool inplace=False)",
     "In training whole channels are zeroed with probability p and the rest scaled by 1 / (1 - p).", "dropout1d"},
    {"Dropout2d(float p=0.5, bool inplace=False)",
     "In training whole channels are zeroed with probability p and the rest scaled by 1 / (1 - p).", "dropout2d"},
    {"Dropout3d(float p=0.5, bool inplace=False)",
     "In training whole channels are zeroed with probability p and the rest scaled by 1 / (1 - p).", "dropout3d"},
    {"AlphaDropout(float p=0.5, bool inplace=False)", "Dropout towards SELU's lower limit; mean and variance stay.",
     "alpha_dropout"},
    {"FeatureAlphaDropout(float p=0.5, bool inplace=False)", "AlphaDropout of whole channels.", "feature_alpha_dropout"},
};

}  // namespace

std::span<const LayerDef> dropout_layers() { return kLayers; }

}  // namespace dyadic::inline v1::nn
