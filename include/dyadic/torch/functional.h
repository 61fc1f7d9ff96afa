// nn::functional: the ops, and with options as chains: functional::max_pool2d(x, MaxPool2dFuncOptions(2).stride(1)).
#pragma once
#include "dyadic/torch/names.h"

namespace torch::nn::functional {
#include "dyadic/torch_names.inc"
using torch::nll_loss, torch::binary_cross_entropy_with_logits;
#include "dyadic/torch_functional.inc"
}  // namespace torch::nn::functional
