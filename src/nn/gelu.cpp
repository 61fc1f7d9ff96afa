#include "base/check.h"
#include "dyadic/nn.h"

namespace dyadic::inline v1::nn {

GELU::GELU(std::string_view approximate) : approximate(approximate) {
  DY_CHECK_AS(ValueError, approximate == "none" || approximate == "tanh",
              "GELU: unknown approximate \"{}\"; the known ones are none and tanh", approximate);
}
Tensor GELU::forward(const Tensor& x) { return approximate == "tanh" ? gelu_tanh(x) : gelu(x); }
std::string GELU::extra_repr() const { return approximate == "none" ? "" : fmt::format("approximate='{}'", approximate); }

}  // namespace dyadic::inline v1::nn
