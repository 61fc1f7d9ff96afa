// LoRA adapters (Hu et al. 2021): low-rank additions to a model's weights, in the layout of PEFT's folders: adapter_config.json
// and adapter_model.safetensors.
//
//   auto m = dy::models::load("path/to/model");
//   dy::models::load_adapter(*m, "path/to/adapter");       // what m computes has the adapter's share in it
//   m->adapter->merge();                                   // its weights have it; the adapter is gone
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "dyadic/models.h"

namespace dyadic::inline v1::models {

class Lora;

// What a model computes besides its own weights, while it is on. One model has one at a time, and it is of no use without it.
class Adapter : public std::enable_shared_from_this<Adapter> {
  struct Part {
    std::string path;  // of the module
    std::shared_ptr<Lora> lora;
  };
  struct Replaced {
    std::string name;  // of the parameter
    Tensor before;
  };
  CausalLM& model_;
  std::vector<Part> parts_;
  std::vector<Replaced> replaced_;
  std::vector<std::string> trained_;  // parameters that required gradients
  friend struct AdapterMaker;

 public:
  const std::string config;  // adapter_config.json
  Adapter(CausalLM& model, std::string config);
  ~Adapter();
  // Adds everything to the model's weights, in their own dtypes (what is stored in a scaled format is rounded to it again, and
  // a line says so), and removes the adapter. ValueError, before anything changes, for an embedding that is the output head
  // too.
  void merge();
  void unload();              // the model is as it was before
  void set_enabled(bool on);  // off: the model computes as if there were none, but for whole tensors the adapter replaced
  io::NamedTensors tensors() const;  // by their names in PEFT's files
  void save(const std::string& folder) const;

 private:
  void leave();
};

struct LoadAdapterOptions {
  nn::ByName by_name = {};
  bool is_trainable = false;  // its tensors require gradients
};
// From PEFT's folder, or llama.cpp's GGUF file of one. ValueError naming what of the files this library does not know, what the
// model has no place for, or what has another shape. The model's own parameters require no gradients from then on. What is
// low-rank is computed in float32.
void load_adapter(CausalLM& model, const std::string& path, const LoadAdapterOptions& options = {});

struct LoraConfig {
  nn::ByName by_name = {};
  int64_t r = 8;
  double lora_alpha = 8;  // additions are multiplied by lora_alpha / r
  // Names of modules or their last parts; "all-linear": every layer that is a product, but for the output head.
  std::vector<std::string> target_modules = {"all-linear"};
  double lora_dropout = 0;
  bool use_rslora = false;                   // by lora_alpha / sqrt(r) (Kalajdzievski 2023)
  bool use_dora = false;                     // weights' lengths and directions apart (Liu et al. 2024)
  std::string base_model_name_or_path = {};  // that the file names; empty: none
};
// A new one, to be trained: it changes nothing at first.
void add_adapter(CausalLM& model, const LoraConfig& config);

}  // namespace dyadic::inline v1::models
