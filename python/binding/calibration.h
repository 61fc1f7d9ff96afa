// Calibration data that Python runs a model over.
#pragma once
#include "dyadic/quant.h"
#include "nn.h"

namespace dyadic::inline v1::python {

// A Python object with run(), sample() and gives_logits; hooks are Python's, so that they stand whoever calls the module.
class PythonCalibration : public quant::Calibration {
  nb::object data_;

 public:
  explicit PythonCalibration(nb::object data) : data_(std::move(data)) {}
  void run(nn::Module&) override { data_.attr("run")(); }
  Tensor sample(nn::Module&) override { return nb::cast<Tensor>(data_.attr("sample")()); }
  bool gives_logits() const override { return nb::cast<bool>(data_.attr("gives_logits")); }
  void watch(nn::Module& m, std::shared_ptr<nn::Hook> hook) override {
    const nb::handle o = nb::find(&m);
    if (!o) return quant::Calibration::watch(m, std::move(hook));  // no Python code can call it
    data_.attr("watch")(o, reinterpret_cast<uintptr_t>(hook.get()),
                        nb::cpp_function([&m, hook](std::vector<Tensor> inputs) { hook->before(m, inputs); }),
                        nb::cpp_function([&m, hook](const std::vector<Tensor>& inputs, std::vector<Tensor> results) {
                          hook->after(m, inputs, results);
                        }));
  }
  void unwatch(nn::Module& m, const nn::Hook* hook) override {
    if (const nb::handle o = nb::find(&m))
      data_.attr("unwatch")(o, reinterpret_cast<uintptr_t>(hook));
    else
      quant::Calibration::unwatch(m, hook);
  }
};

}  // namespace dyadic::inline v1::python
