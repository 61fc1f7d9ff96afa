#include <cmath>

#include "base/json.h"
#include "train/json.h"

namespace dyadic::inline v1::train {

EarlyStopping::EarlyStopping(EarlyStoppingOptions options, nn::Module* restore_best) : o_(options), module_(restore_best) {
  DY_CHECK_AS(ValueError, o_.patience >= 1, "EarlyStopping: patience is {}; it is at least 1", o_.patience);
  DY_CHECK_AS(ValueError, o_.min_delta >= 0, "EarlyStopping: min_delta is {}; it is not negative", o_.min_delta);
}

bool EarlyStopping::update(double metric) {
  const bool was_over = stopped();
  const bool better =
      !std::isnan(metric) && (!best_ || (o_.maximize ? metric > *best_ + o_.min_delta : metric < *best_ - o_.min_delta));
  if (better) {
    best_ = metric;
    best_update_ = updates_;
    bad_ = 0;
    if (module_) {
      NoGrad guard;
      kept_.clear();
      for (auto& [name, t] : module_->state_dict()) kept_.emplace_back(name, t.clone());
    }
  } else {
    ++bad_;
  }
  ++updates_;
  if (stopped() && !was_over) restore();
  return stopped();
}

void EarlyStopping::restore() {
  if (module_ && !kept_.empty()) module_->load_state_dict(kept_);
}

State EarlyStopping::state() const {
  const Json j = {
      {"best", best_ ? number_json(*best_) : Json()}, {"bad", bad_}, {"updates", updates_}, {"best_update", best_update_}};
  return {kept_, dump_json(j)};
}

void EarlyStopping::load(const State& state) {
  const Json j = parse_json(state.json);
  best_ = j.at("best").is_null() ? std::nullopt : std::optional(number_of(j.at("best")));
  bad_ = j.at("bad").get<int64_t>(), updates_ = j.at("updates").get<int64_t>(),
  best_update_ = j.at("best_update").get<int64_t>();
  kept_.clear();
  if (module_) kept_ = state.tensors;
}

}  // namespace dyadic::inline v1::train
