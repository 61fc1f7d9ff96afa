// The learning rate of a study unless told otherwise: linear up, then a cosine down.
#pragma once
#include <algorithm>
#include <optional>

#include "dyadic/lr_scheduler.h"

namespace dyadic::inline v1::study {

// The floor is a tenth of the peak, the warm-up a tenth of the steps and at most 100, unless given.
inline optim::WarmupCosine warmup_cosine(double lr, std::optional<double> min_lr, std::optional<int64_t> warmup,
                                         int64_t steps) {
  return {lr, min_lr.value_or(lr / 10), warmup.value_or(std::min<int64_t>(100, steps / 10)), steps};
}

class Warmup : public optim::Schedule {
  optim::WarmupCosine rate_;

 public:
  Warmup(optim::Optimizer& optimizer, optim::WarmupCosine rate) : Schedule(optimizer), rate_(rate) { step_to(0); }
  void step() override { step_to(double(epoch_ + 1)); }
  void step_to(double epoch) override {
    epoch_ = int64_t(epoch);
    optimizer_->set_lr(rate_(epoch_));
    note_rates();
  }
  optim::ScheduleState state_dict() const override { return {{"last_epoch", {double(epoch_)}}}; }
  void load_state_dict(const optim::ScheduleState& state) override {
    if (auto at = state.find("last_epoch"); at != state.end() && !at->second.empty()) step_to(at->second[0]);
  }
};

}  // namespace dyadic::inline v1::study
