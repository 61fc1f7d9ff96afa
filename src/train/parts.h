// The library's own classes as parts of a run.
#pragma once
#include "dyadic/train.h"

namespace dyadic::inline v1::train {

using Modules = std::vector<std::pair<std::string, nn::Module*>>;

// The name that states go by, "<part>.<name>" of the parameters in `modules`, by the optimizer's own; its own names where two
// parameters would be one.
std::map<std::string, std::string> state_names(const optim::Optimizer& optimizer, const Modules& modules);
std::unique_ptr<Part> module_part(nn::Module& module);
// States go by state_names(); `modules` may grow later.
std::unique_ptr<Part> optimizer_part(optim::Optimizer& optimizer, const Modules& modules);

// What was saved may lie in a file: the same in memory.
State own(const State& saved);

// A part that nothing can be said about beforehand.
class Plain : public Part {
  data::Callback<State()> state_;
  data::Callback<void(const State&)> load_;

 public:
  Plain(data::Callback<State()> state, data::Callback<void(const State&)> load)
      : state_(std::move(state)), load_(std::move(load)) {}
  State state() override { return state_(); }
  void compare(const std::string&, const State&, Differences&) override {}
  void load(const State& saved) override { load_(own(saved)); }
};

}  // namespace dyadic::inline v1::train
