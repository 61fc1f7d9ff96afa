#include "base/check.h"
#include "dyadic/nn.h"

namespace dyadic::inline v1::nn {

Sequential::Sequential(std::vector<std::shared_ptr<Module>> modules) {
  for (auto& m : modules) append(std::move(m));
}
void Sequential::append(std::shared_ptr<Module> m) { add(std::to_string(children().size()), std::move(m)); }
Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (auto& [name, m] : children()) {
    DY_CHECK_AS(TypeError, m, "Sequential: module {} is None; put an Identity there", name);
    y = (*m)(y);
  }
  return y;
}

}  // namespace dyadic::inline v1::nn
