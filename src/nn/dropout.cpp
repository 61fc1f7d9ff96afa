#include "base/check.h"
#include "dyadic/nn.h"

namespace dyadic::inline v1::nn {

Dropout::Dropout(double p) : p(p) { DY_CHECK_AS(ValueError, p >= 0 && p <= 1, "Dropout: p is not a probability: p is {}", p); }
Tensor Dropout::forward(const Tensor& x) { return dropout(x, p, training()); }
std::string Dropout::extra_repr() const { return fmt::format("p={}", p); }

}  // namespace dyadic::inline v1::nn
