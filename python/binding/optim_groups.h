// Parameter groups as Python gives and sees them.
#pragma once
#include "dyadic/optim.h"
#include "options.h"

namespace dyadic::inline v1::python {

// Tensors are named by their position (count goes on), (name, tensor) pairs as they say.
nn::NamedTensors read_params(const std::string& who, nb::handle params, size_t& count);
std::vector<optim::ParamGroup> read_groups(const std::string& who, nb::object params);
void add_param_group(optim::Optimizer& o, nb::dict group);
nb::list groups_of(nb::handle optimizer);
// A parameter's memory as PyTorch shows it: tensors in the parameter's shape, "step" and other numbers as 0-d tensors.
nb::list state_names(optim::Optimizer& o);
nb::dict state_of(optim::Optimizer& o, const std::string& name);
void set_state_of(optim::Optimizer& o, const std::string& name, const std::string& key, const Tensor& value);
void forget_state_of(optim::Optimizer& o, const std::string& name, const std::string& key);
void load_optimizer_state(nb::handle optimizer, nb::dict state);
void add_param_groups(nb::module_& m);

}  // namespace dyadic::inline v1::python
