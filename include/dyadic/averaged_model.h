// Averages of a model's weights: their mean (SWA, Izmailov et al. 2018) or an exponential one (EMA).
//
//   Net model, mean;                     // two of a kind
//   dy::optim::AveragedModel ema(mean, model, {.decay = 0.999});
//   ... optimizer.step(); ema.update_parameters(model); ...
//   ema(x);
#pragma once
#include <optional>

#include "dyadic/nn.h"

namespace dyadic::inline v1::optim {

struct AveragedModelOptions {
  std::optional<double> decay = {};  // averages = decay averages + (1 - decay) weights; none: the mean of all that were seen
  bool use_buffers = false;          // buffers are averaged, too; else they are the model's
};

// `module` holds the averages, and nothing else may train it; it begins as a copy of `model`. What is saved is PyTorch's:
// "n_averaged" and "module.<name>".
class AveragedModel : public nn::Module {
  nn::Module& module_;
  AveragedModelOptions options_;
  Tensor n_averaged_;

 public:
  AveragedModel(nn::Module& module, const nn::Module& model, AveragedModelOptions options = {});
  // After optimizer.step(). The first call copies.
  void update_parameters(const nn::Module& model);
  int64_t n_averaged() const { return n_averaged_.item<int64_t>(); }
  nn::Module& module() const { return module_; }
  Tensor forward(const Tensor& x) override { return module_(x); }
  const char* kind() const override { return "AveragedModel"; }
};

}  // namespace dyadic::inline v1::optim
