// nn.init: values drawn in f32 and stored once in the tensor's dtype.
#include "base/check.h"
#include "dyadic/nn.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::nn::init {
namespace {
void write(const Tensor& t, const Tensor& values) {
  NoGrad guard;
  t.detach().copy_(values);
}
}  // namespace

void normal_(const Tensor& t, double mean, double std) {
  DY_CHECK_AS(ValueError, std >= 0, "init.normal_: the standard deviation is negative: std is {}", std);
  if (t.is_meta()) return;
  NoGrad guard;
  Tensor v = randn(t.sizes(), f32);
  v.mul_(std);
  if (mean != 0) v.add_(scalar_tensor(mean));
  write(t, v);
}
void uniform_(const Tensor& t, double a, double b) {
  DY_CHECK_AS(ValueError, a <= b, "init.uniform_: the bounds are reversed: a is {}, b is {}", a, b);
  if (t.is_meta()) return;
  NoGrad guard;
  Tensor v = rand(t.sizes(), f32);
  v.mul_(b - a);
  v.add_(scalar_tensor(a));
  write(t, v);
}
void constant_(const Tensor& t, double value) {
  if (t.is_meta()) return;
  t.detach().fill_(value);
}

}  // namespace dyadic::inline v1::nn::init
