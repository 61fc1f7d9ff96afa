// The weights that quantize() is for, and what the modules around them do.
#pragma once
#include <map>

#include "dyadic/quant.h"

namespace dyadic::inline v1::quant {

struct Target {
  std::string name;           // of the parameter
  Tensor weight;              // the parameter itself
  DType format;               // that it will have
  nn::Linear* linear;         // null: another module's
  bool filters;               // its rows are the filters of a convolution
  std::string why_no_inputs;  // where its inputs cannot be caught
  std::string stage;          // weights that are calibrated in one run of the model
};
// In the order of registration. ValueError where nothing fits, or a pattern fits only what the format is not for.
std::vector<Target> find_targets(nn::Module& model, const QuantizeOptions& o);

// Whether patterns take a parameter: one of `include`, or all where that is empty, and none of `exclude`.
bool takes(const std::vector<std::string>& include, const std::vector<std::string>& exclude, std::string_view name);

// "model.layers.3.mlp.up_proj.weight" is of the stage "model.layers.3"; what is in no list is of its module's parent.
std::string stage_of(const std::string& name);

// Of a matrix or more, in a format.
int64_t bytes_in(const Tensor& weight, DType format, bool filters);

// One run over the calibration's sample: which modules were called, in order, with what.
struct Call {
  nn::Module* module;
  size_t input, output;  // tensors by number: the same one has the same
};
std::vector<Call> trace(nn::Module& model, Calibration& data);

// Modules neither drop out nor count statistics while it lives.
class Evaluating {
  std::vector<nn::Module*> training_;

 public:
  explicit Evaluating(nn::Module& model);
  ~Evaluating();
  Evaluating(const Evaluating&) = delete;
};

// Puts a hook on a module while it lives.
class Watching {
  Calibration& data_;
  nn::Module& module_;
  std::shared_ptr<nn::Hook> hook_;

 public:
  Watching(Calibration& data, nn::Module& module, std::shared_ptr<nn::Hook> hook) : data_(data), module_(module), hook_(hook) {
    data_.watch(module_, hook_);
  }
  ~Watching() { data_.unwatch(module_, hook_.get()); }
  Watching(const Watching&) = delete;
};

// Multiplies the columns of the weights of `group`, which share their inputs, by `scale` [in], and divides what comes before
// them: a norm's or a linear layer's results. Whether that leaves the model as it was is tried on the sample: `expected` is its
// result. Gives the name of the module that took the scales; empty where none does, and then nothing is changed.
std::string fold(nn::Module& model, Calibration& data, const std::vector<Call>& calls, const Tensor& expected,
                 const std::vector<Target*>& group, const Tensor& scale);

}  // namespace dyadic::inline v1::quant
