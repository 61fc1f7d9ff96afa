// nn.init: values drawn in f32 and stored once in the tensor's dtype.
#include <algorithm>

#include "base/check.h"
#include "dyadic/nn.h"
#include "ops/random/generator.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::nn::init {
namespace {

constexpr int64_t kPiece = 1 << 16;  // elements

// `drawn` * scale + shift, a piece at a time: a tensor of another dtype never exists in f32 as a whole. A view that is not
// dense and elements that share bytes are written in one piece.
void draw(const Tensor& t, void (*drawn)(uint64_t, uint64_t, uint64_t, int64_t, float*), double scale, double shift) {
  if (t.is_meta()) return;
  NoGrad guard;
  const ops::Draw from = ops::next_draw();
  const bool dense = t.is_contiguous() && !t.dtype().is_blocked();
  const int64_t n = t.numel(), step = dense ? std::min(n, kPiece) : n;
  const Tensor target = dense ? t.detach().view({n}) : t.detach();
  const Tensor values = dense ? empty({step}, f32) : empty(t.sizes(), f32);
  for (int64_t begin = 0; begin < n; begin += step) {
    const int64_t count = std::min(step, n - begin);
    const Tensor piece = count < step ? narrow(values, 0, 0, count) : values;
    float* out = piece.data<float>();
    parallel_for(count, 4096, [&](int64_t from_i, int64_t to) {
      drawn(from.seed, from.stream, uint64_t(begin + from_i), to - from_i, out + from_i);
    });
    piece.mul_(scale);
    if (shift != 0) piece.add_(scalar_tensor(shift));
    (dense ? narrow(target, 0, begin, count) : target).copy_(piece);
  }
}

}  // namespace

void normal_(const Tensor& t, double mean, double std) {
  DY_CHECK_AS(ValueError, std >= 0, "init.normal_: the standard deviation is negative: std is {}", std);
  draw(t, random_kernel().normal_f32, std, mean);
}
void uniform_(const Tensor& t, double a, double b) {
  DY_CHECK_AS(ValueError, a <= b, "init.uniform_: the bounds are reversed: a is {}, b is {}", a, b);
  draw(t, random_kernel().uniform_f32, b - a, a);
}
void constant_(const Tensor& t, double value) {
  if (t.is_meta()) return;
  t.detach().fill_(value);
}

}  // namespace dyadic::inline v1::nn::init
