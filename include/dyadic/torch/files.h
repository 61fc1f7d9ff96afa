// save and load of modules, optimizers and tensors: safetensors files. (PyTorch's own files are read from Python.)
#pragma once
#include "dyadic/torch/module.h"
#include "dyadic/torch/optim.h"

namespace torch {

using dyadic::load, dyadic::save;
template <class M> void save(const nn::ModuleHolder<M>& module, const std::string& path) { dyadic::save(*module, path); }
template <class M> void load(nn::ModuleHolder<M>& module, const std::string& path) { dyadic::load(*module, path); }
template <std::derived_from<nn::Module> M> void save(const std::shared_ptr<M>& module, const std::string& path) {
  dyadic::save(*module, path);
}
template <std::derived_from<nn::Module> M> void load(std::shared_ptr<M>& module, const std::string& path) {
  dyadic::load(*module, path);
}
inline void save(const std::vector<Tensor>& tensors, const std::string& path) {
  dyadic::save(dyadic::nn::numbered(tensors), path);
}
inline void load(std::vector<Tensor>& tensors, const std::string& path) {
  tensors.clear();
  for (auto& [name, t] : dyadic::load(path)) tensors.push_back(t);
}
// Its states, with the number of steps as one more tensor.
inline void save(optim::Optimizer& optimizer, const std::string& path) {
  dyadic::nn::NamedTensors all = optimizer.state_dict();
  all.emplace_back("steps", dyadic::tensor(optimizer.steps()));
  dyadic::save(all, path);
}
inline void load(optim::Optimizer& optimizer, const std::string& path) {
  dyadic::nn::NamedTensors all = dyadic::load(path), states;
  int64_t steps = 0;
  for (auto& [name, t] : all)
    if (name == "steps")
      steps = t.item<int64_t>();
    else
      states.emplace_back(name, t);
  optimizer.load_state_dict(states, steps);
}

}  // namespace torch
