// Linear layers in f8 with delayed scaling: what autocast makes of them, and what it keeps.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "corridor/call.h"
#include "dyadic/amp.h"

namespace dyadic::inline v1 {

// Largest absolute values of the steps before, the latest first, and of the step that runs.
struct AmaxHistory {
  double scale = 0;  // 0: nothing is known yet
  double now = 0;
  std::deque<double> before;
};

struct F8Layer {
  AmaxHistory input, weight, gradient;
  const TensorImpl* of = nullptr;  // whose it is; only compared
  Tensor codes;                    // of the weight, for the region
  uint32_t version = 0;            // that the weight had
};

struct DelayedScaling::State {
  Options options;
  mutable std::mutex mutex;  // of the map: backward may run while another thread saves
  std::map<std::string, std::shared_ptr<F8Layer>, std::less<>> layers;

  // The layer of a weight in the module that runs. A second weight of one module has a name of its own.
  std::shared_ptr<F8Layer> layer(const TensorImpl* weight);
  void next_step();
};

// linear(x, weight, bias) in f8 codes and bf16 results; recorded for backward.
Tensor f8_linear(const DelayedScaling& scaling, const Tensor& x, const Tensor& weight, const Tensor& bias, bool cache);

}  // namespace dyadic::inline v1
