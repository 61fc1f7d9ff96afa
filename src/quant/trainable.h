// quantize() with trainable: layers get a Quantizer each; calibrate() and freeze() find them there.
#pragma once
#include "quant/quantizer.h"

namespace dyadic::inline v1::quant {

// Layers by their paths. hooks: they call their quantizers; else whoever calls them does so.
Report begin_training(nn::Module& model, const QuantizeOptions& o, bool hooks);

}  // namespace dyadic::inline v1::quant
