// Inputs of layers in a format, rounded as they come.
#include "base/check.h"
#include "dyadic/quant.h"
#include "quant/methods.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::quant {
namespace {

class RoundInputs : public nn::Hook {
  DType format_;
  double threshold_;

 public:
  RoundInputs(DType format, double threshold) : format_(format), threshold_(threshold) {}
  void before(nn::Module&, std::vector<Tensor>& inputs) override {
    if (!inputs.empty()) inputs[0] = round_inputs(inputs[0], format_, threshold_);
  }
};

void check(DType format, double threshold) {
  const std::string refusal = refuses_unencodable(format);
  DY_CHECK_AS(ValueError, refusal.empty(), "round_inputs: inputs cannot be {}: {}", format.name(), refusal);
  DY_CHECK_AS(ValueError, threshold >= 0, "round_inputs: threshold is {}, below 0", threshold);
}

}  // namespace

Tensor round_inputs(const Tensor& x, DType format, double threshold) {
  check(format, threshold);
  DY_CHECK_AS(ValueError, x.dim() >= 1 && x.dtype().is_floating_point(), "round_inputs: it takes rows of floats: x is {}",
              describe(x));
  if (x.numel() == 0) return x;
  const Tensor rows = x.reshape({-1, x.size(-1)});
  if (threshold == 0) return rows.to(format).to(x.dtype()).view(x.sizes());
  const Tensor outlier = ge(amax(abs(rows), {0}), threshold);
  const Tensor rest = masked_fill(rows, outlier, 0).to(format).to(x.dtype());
  return where(outlier, rows, rest).view(x.sizes());
}

std::shared_ptr<nn::Hook> round_inputs_of(nn::Module& m, DType format, double threshold) {
  check(format, threshold);
  auto hook = std::make_shared<RoundInputs>(format, threshold);
  m.add_hook(hook);
  return hook;
}

}  // namespace dyadic::inline v1::quant
