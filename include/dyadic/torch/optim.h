// Optimizers by libtorch's options: SGD(model->parameters(), SGDOptions(0.1).momentum(0.9)), Adam(params, 1e-3); their groups
// as it has them: static_cast<AdamOptions&>(optimizer.param_groups()[0].options()).lr(1e-4).
#pragma once
#include "dyadic/lr_scheduler.h"
#include "dyadic/torch/names.h"

namespace dyadic::inline v1::optim {

// Options of its own, or a group's where it stands. The classes of each optimizer's options add names and no state.
class OptimizerOptions {
  Options own_{};
  Options* at_ = nullptr;

 public:
  OptimizerOptions() = default;
  explicit OptimizerOptions(Options& group) : at_(&group) {}
  OptimizerOptions(const OptimizerOptions& o) : own_(o.named()) {}
  OptimizerOptions& operator=(const OptimizerOptions& o) {
    if (this != &o) (at_ ? *at_ : own_) = o.named();
    return *this;
  }
  const Options& named() const { return at_ ? *at_ : own_; }
  void set(std::string_view name, Option value) { (at_ ? *at_ : own_).set(name, std::move(value)); }
  double number(std::string_view name, size_t i = 0) const { return named().number(name, i); }
  double get_lr() const { return number("lr"); }
  void set_lr(double lr) { set("lr", lr); }
};

// A group to make an optimizer from, or a view of one of an optimizer's.
class OptimizerParamGroup {
  std::vector<Tensor> params_;
  OptimizerOptions options_;

 public:
  OptimizerParamGroup(std::vector<Tensor> params) : params_(std::move(params)) {}
  OptimizerParamGroup(std::vector<Tensor> params, const OptimizerOptions& o) : params_(std::move(params)), options_(o) {}
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> o)
      : OptimizerParamGroup(std::move(params), *o) {}
  explicit OptimizerParamGroup(ParamGroup& group) : options_(group.options) {
    for (auto& [name, p] : group.params) params_.push_back(p);
  }
  OptimizerParamGroup(OptimizerParamGroup&& o) noexcept = default;
  OptimizerParamGroup(const OptimizerParamGroup& o) = default;
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }
  OptimizerOptions& options() { return options_; }
  const OptimizerOptions& options() const { return options_; }
  bool has_options() const { return true; }
};
inline std::vector<OptimizerParamGroup> Optimizer::param_groups() {
  std::vector<OptimizerParamGroup> all;
  all.reserve(groups_.size());
  for (ParamGroup& g : groups_) all.emplace_back(g);
  return all;
}
inline std::vector<ParamGroup> numbered_groups(const std::vector<OptimizerParamGroup>& groups) {
  std::vector<ParamGroup> all;
  int64_t n = 0;
  for (const auto& g : groups) {
    ParamGroup& made = all.emplace_back();
    made.options = g.options().named();
    for (const Tensor& p : g.params()) made.params.emplace_back(std::to_string(n++), p);
  }
  return all;
}

}  // namespace dyadic::inline v1::optim

namespace torch::optim {
using dyadic::optim::Optimizer, dyadic::optim::OptimizerOptions, dyadic::optim::OptimizerParamGroup,
    dyadic::optim::numbered_groups;
using LRScheduler = dyadic::optim::Schedule;
#include "dyadic/torch_optim.inc"
using dyadic::optim::ReduceLROnPlateau;
}  // namespace torch::optim
