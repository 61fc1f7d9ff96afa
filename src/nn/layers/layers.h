// The tables of layers, one per family, and the parameters that several of them begin with.
#pragma once
#include "dyadic/nn_layers.h"

namespace dyadic::inline v1::nn {

std::span<const LayerDef> convolution_layers();
std::span<const LayerDef> pooling_layers();
std::span<const LayerDef> normalization_layers();
std::span<const LayerDef> activation_layers();
std::span<const LayerDef> dropout_layers();
std::span<const LayerDef> loss_layers();
std::span<const LayerDef> other_layers();
std::span<const LayerDef> recurrent_layers();
std::span<const LayerDef> attention_layers();
std::span<const LayerDef> transformer_layers();

// A parameter from U(-bound, bound), or of one value.
void add_uniform(Layer& self, const char* name, IntList shape, double bound, Options options);
void add_constant(Layer& self, const char* name, IntList shape, double value, Options options);

}  // namespace dyadic::inline v1::nn
