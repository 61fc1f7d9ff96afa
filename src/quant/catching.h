// Watching a model at work: the inputs of its layers.
#pragma once
#include "base/check.h"
#include "dyadic/quant.h"

namespace dyadic::inline v1::quant {

class Catcher : public nn::Hook {
  const char* who_;
  Inputs& inputs_;
  const std::string& name_;  // of the weight, for messages

 public:
  Catcher(const char* who, Inputs& inputs, const std::string& name) : who_(who), inputs_(inputs), name_(name) {}
  void before(nn::Module&, std::vector<Tensor>& inputs) override {
    try {
      if (!inputs.empty()) inputs_.add(inputs[0]);
    } catch (const ValueError& e) { fail<ValueError>("{}: {}: {}", who_, name_, e.what()); }
  }
};

}  // namespace dyadic::inline v1::quant
