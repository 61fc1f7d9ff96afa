#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "dyadic/optim.h"
#include "optim/grad_ops.h"
#include "tensor/impl.h"

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
  DY_CHECK_AS(ValueError, norm_type >= 0, "total_norm: norm_type is {}; it is at least zero", norm_type);
  NoGrad guard;
  if (norm_type == 2) {
    std::vector<Tensor> some;
    std::ranges::copy_if(tensors, std::back_inserter(some), [](const Tensor& t) { return t.numel() > 0; });
    return std::sqrt(grad_squares(some));
  }
  double total = 0;
  for (const Tensor& t : tensors) {
    if (t.numel() == 0) continue;
    if (t.is_meta()) {
      continue;
    } else if (norm_type == 0) {
      total += amax(abs(t)).item() != 0;
    } else if (std::isinf(norm_type)) {
      const double most = amax(abs(t)).item();
      total = most > total || std::isnan(most) ? most : total;
    } else {
      total += sum(pow(abs(t.to(f64)), norm_type)).item();
    }
  }
  return std::isinf(norm_type) || norm_type == 0 ? total : std::pow(total, 1 / norm_type);
}
double grad_norm(const nn::NamedTensors& params) { return total_norm(gradients(params)); }

double clip_grad_norm_(const nn::NamedTensors& params, double max_norm, double norm_type) {
  NoGrad guard;
  const std::vector<Tensor> all = gradients(params);
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
