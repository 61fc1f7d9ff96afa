#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops {

Tensor per_channel(const Tensor& v, int64_t dims) {
  std::vector<int64_t> shape(size_t(dims), 1);
  shape[1] = v.numel();
  return v.reshape(shape);
}

Tensor normalized_rows(const Tensor& x, int64_t rows, double eps) {
  const int64_t n = rows ? x.numel() / rows : 0;
  Tensor flat = dense(x).reshape({rows, n});
  Arg args[] = {flat, n, Arg(), Arg(), eps};
  Tensor out[3];
  call_op(Op::native_layer_norm_, args, 5, out);
  return out[0].reshape(x.sizes());
}

Tensor scaled_channels(const char* who, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor y = x;
  for (const Tensor* v : {&weight, &bias}) {
    if (!v->defined()) continue;
    DY_CHECK(v->dim() == 1 && v->size(0) == x.size(1), "{}: {} does not fit: it is {}, the input has {} channels", who,
             v == &weight ? "weight" : "bias", describe(*v), x.size(1));
    y = v == &weight ? mul(y, per_channel(*v, x.dim())) : add(y, per_channel(*v, x.dim()));
  }
  return y;
}

void move_towards(const Tensor& running, const Tensor& value, double momentum) {
  running.detach().copy_(add(mul(running.detach(), 1 - momentum), mul(dyadic::to(value, plain(running)), momentum)));
}

}  // namespace dyadic::inline v1::ops
