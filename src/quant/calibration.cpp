// Running a model over data.
#include "base/check.h"
#include "dyadic/autograd.h"
#include "dyadic/quant.h"

namespace dyadic::inline v1::quant {

Calibration::~Calibration() = default;
void Calibration::watch(nn::Module& m, std::shared_ptr<nn::Hook> hook) { m.add_hook(std::move(hook)); }
void Calibration::unwatch(nn::Module& m, const nn::Hook* hook) { m.remove_hook(hook); }

Batches::Batches(std::vector<Tensor> batches) : batches_(std::move(batches)) {
  DY_CHECK_AS(ValueError, !batches_.empty(), "Batches: there is no data");
}
void Batches::run(nn::Module& model) {
  const NoGrad guard;
  for (const Tensor& x : batches_) model(x);
}
Tensor Batches::sample(nn::Module& model) {
  const NoGrad guard;
  return model(batches_[0]);
}
double Calibration::distance(const Tensor& before, const Tensor& after) const {
  const NoGrad guard;
  const Tensor a = before.to(f32), b = after.to(f32);
  if (!gives_logits()) return (sum(square(b - a)) / sum(square(a))).item();
  const Tensor p = log_softmax(a, -1), q = log_softmax(b, -1);
  return mean(sum(exp(p) * (p - q), {-1})).item();
}

}  // namespace dyadic::inline v1::quant
