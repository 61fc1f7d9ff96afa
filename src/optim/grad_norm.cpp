#include "dyadic/optim.h"
#include "optim/grad_ops.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1::optim {
namespace {

std::vector<Tensor> gradients(const nn::NamedTensors& params) {
  std::vector<Tensor> out;
  for (auto& [name, p] : params)
    if (Tensor d = p.grad(); d.defined()) out.push_back(d);
  return out;
}

}  // namespace

double total_norm(std::span<const Tensor> tensors, double norm_type) {
  NoGrad guard;
  return norm_of(norm_parts(tensors, norm_type), norm_type);
}
double grad_norm(const nn::NamedTensors& params) { return total_norm(gradients(params)); }

template <class T> Lazy<T>::operator T() const {
  if (unread_.defined()) return T(unread_.item());
  note_refusal("the program asks whether a GradScaler's step is made");
  return value_;
}
template class Lazy<bool>;
template class Lazy<double>;

Lazy<double> clip_grad_norm_(const nn::NamedTensors& params, double max_norm, double norm_type) {
  NoGrad guard;
  const std::vector<Tensor> all = gradients(params);
  if (t_step_watcher) return Lazy<double>(clip_in_calls(all, max_norm, norm_type));
  const double norm = total_norm(all, norm_type), factor = max_norm / (norm + 1e-6);
  if (!(factor >= 1))
    for (const Tensor& g : all) g.mul_(factor);
  return norm;
}
void clip_grad_value_(const nn::NamedTensors& params, double clip_value) {
  NoGrad guard;
  for (const Tensor& g : gradients(params)) g.copy_(clamp(g, -clip_value, clip_value));
}

}  // namespace dyadic::inline v1::optim
