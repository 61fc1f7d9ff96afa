// What stands by a layer whose weights are trained as they will be stored: the child "quantizer" of it.
#pragma once
#include <memory>
#include <optional>

#include "quant/fake.h"
#include "quant/observers.h"

namespace dyadic::inline v1::quant {

class Quantizer : public nn::Module {
 public:
  // For a module's inputs; an undefined format: they are not rounded. learned: scales of weights, and static ones of inputs,
  // are parameters.
  Quantizer(DType activations, bool learned);
  // A weight of the module. `like`: another module has the same tensor, under scales that are then one.
  void add_weight(const std::string& name, const Tensor& weight, DType format, bool filters, const Tensor* like);
  const Tensor* scale_of(const std::string& name) const;  // null where it is the format's own

  // Around a forward of `m`: rounded inputs, and weights as they will be; then the weights themselves again.
  Tensor enter(nn::Module& m, const Tensor& x);
  void leave(nn::Module& m);

  DType activations() const { return activations_; }
  bool learned() const { return learned_; }
  bool can_be_static() const;
  void begin_observing(const CalibrateOptions& o) { observed_ = std::make_unique<Observed>(), calibration_ = o; }
  std::unique_ptr<Observed> end_observing() { return std::move(observed_); }
  void set_range(double low, double high, RangeReport& report);
  struct Part {
    std::string name;
    DType format;
    bool filters;
    Tensor scale;  // f32 [scales]; undefined: the format's own
    Tensor kept;   // the weight, while another stands in its place
    Tensor seen(const Tensor& weight) const;
    Tensor stored(const Tensor& weight) const;
  };
  const std::vector<std::unique_ptr<Part>>& parts() const { return parts_; }
  void freeze();  // it is for inputs alone from now on
  // A hook of the module's that calls it; where there is none somebody else does.
  void watch(nn::Module& m);
  void unwatch(nn::Module& m);

  const char* kind() const override { return "Quantizer"; }
  std::string extra_repr() const override;
  bool is_matrix(std::string_view) const override { return false; }

 private:
  Tensor rounded(const Tensor& x) const;
  DType activations_;
  bool learned_;
  std::vector<std::unique_ptr<Part>> parts_;
  Tensor input_scale_, input_zero_;  // 0-d; a scale of 0: each input has its own
  std::shared_ptr<nn::Hook> hook_;
  std::unique_ptr<Observed> observed_;
  CalibrateOptions calibration_;
};

inline constexpr const char* kQuantizer = "quantizer";  // the child's name
Quantizer* quantizer_of(nn::Module& m);                 // null where there is none

}  // namespace dyadic::inline v1::quant
