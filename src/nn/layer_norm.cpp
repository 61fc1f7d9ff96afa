#include "base/check.h"
#include "dyadic/nn.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::nn {

LayerNorm::LayerNorm(std::initializer_list<int64_t> shape, double eps, bool elementwise_affine, bool with_bias, Options options)
    : LayerNorm(IntList(shape), eps, elementwise_affine, with_bias, options) {}
LayerNorm::LayerNorm(IntList shape, double eps, bool elementwise_affine, bool with_bias, Options options)
    : normalized_shape(shape.vec()), eps(eps), elementwise_affine(elementwise_affine) {
  if (elementwise_affine) {
    weight = make_parameter(shape, options);
    init::constant_(weight, 1);
    if (with_bias) {
      bias = make_parameter(shape, options);
      init::constant_(bias, 0);
    }
  }
  add_parameter("weight", weight);
  add_parameter("bias", bias);
}
Tensor LayerNorm::forward(const Tensor& x) { return layer_norm(x, normalized_shape, weight, bias, eps); }
std::string LayerNorm::extra_repr() const {
  return fmt::format("{}, eps={}, elementwise_affine={}", shape_text(normalized_shape), eps,
                     weight.defined() ? "True" : "False");
}

}  // namespace dyadic::inline v1::nn
