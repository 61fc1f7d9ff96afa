#include <cmath>

#include "base/check.h"
#include "dyadic/nn.h"

namespace dyadic::inline v1::nn {

Linear::Linear(int64_t in_features, int64_t out_features, bool with_bias, Options options)
    : in_features(in_features), out_features(out_features) {
  weight = make_parameter({out_features, in_features}, options);
  if (with_bias) bias = make_parameter({out_features}, options);
  double bound = in_features > 0 ? 1 / std::sqrt(double(in_features)) : 0;
  init::uniform_(weight, -bound, bound);
  if (with_bias) init::uniform_(bias, -bound, bound);
  add_parameter("weight", weight);
  add_parameter("bias", bias);
}
Tensor Linear::forward(const Tensor& x) {
  DY_CHECK(weight.defined(), "Linear: it has no weight");
  return linear(x, weight, bias);
}
std::string Linear::extra_repr() const {
  return fmt::format("in_features={}, out_features={}, bias={}", in_features, out_features, bias.defined() ? "True" : "False");
}

}  // namespace dyadic::inline v1::nn
