#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops {

Tensor per_channel(const Tensor& v, int64_t dims) {
  std::vector<int64_t> shape(size_t(dims), 1);
  shape[1] = v.numel();
  return v.reshape(shape);
}

Tensor normalized_channels(const char* who, const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias,
                           double eps, Tensor* statistics) {
  const int64_t batch = x.size(0), channels = x.size(1), inner = batch * channels > 0 ? x.numel() / (batch * channels) : 0;
  for (const Tensor* v : {&weight, &bias})
    DY_CHECK(!v->defined() || (v->dim() == 1 && v->size(0) == channels),
             "{}: {} does not fit: it is {}, the input has {} channels", who, v == &weight ? "weight" : "bias", describe(*v),
             channels);
  constexpr int64_t kShort = 16;  // of a channel's elements side by side: turned around, all of the batch's are
  const bool turn = groups == 0 && inner < kShort;
  const Tensor images =
      turn ? dense(x.transpose(0, 1)).reshape({1, channels, batch * inner}) : dense(x).reshape({batch, channels, inner});
  Arg args[] = {images, weight, bias, groups, eps};
  Tensor out[3];
  call_op(Op::native_channel_norm_, args, 5, out);
  if (statistics) statistics[0] = out[1], statistics[1] = out[2];
  if (!turn) return out[0].reshape(x.sizes());
  std::vector<int64_t> turned = x.sizes().vec();
  std::swap(turned[0], turned[1]);
  return out[0].reshape(turned).transpose(0, 1).contiguous();
}

void move_towards(const Tensor& running, const Tensor& value, double momentum) {
  running.detach().copy_(add(mul(running.detach(), 1 - momentum), mul(dyadic::to(value, plain(running)), momentum)));
}

}  // namespace dyadic::inline v1::ops
