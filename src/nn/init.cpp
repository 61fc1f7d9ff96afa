// nn.init: values drawn in f32 and rounded once to the tensor's dtype, piece by piece: no f32 copy of it exists.
#include <algorithm>

#include "base/check.h"
#include "dyadic/nn.h"
#include "ops/random/generator.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::nn::init {
namespace {

using DrawPiece = void (*)(uint64_t seed, uint64_t stream, uint64_t begin, int64_t n, float* out);

// scale * draw + shift.
void fill(const char* who, const Tensor& t, DrawPiece draw, double scale, double shift) {
  check_writable(who, t);
  constexpr int64_t kPiece = 4096;
  NoGrad guard;
  const bool direct = t.is_contiguous() && !t.dtype().is_blocked() && !t.dtype().is_complex() && t.device().is_cpu();
  const Tensor dense = direct ? t.detach() : empty(t.sizes(), f32);  // drawn on the host, so that it is the same everywhere
  const Draw d = next_draw();
  const int64_t n = dense.numel();
  const auto factor = float(scale), offset = float(shift);
  parallel_for((n + kPiece - 1) / kPiece, 4, [&](int64_t begin, int64_t end) {
    alignas(64) float values[kPiece];
    alignas(64) double wide[kPiece];
    for (int64_t at = begin * kPiece; at < std::min(n, end * kPiece); at += kPiece) {
      const int64_t count = std::min(kPiece, n - at);
      draw(d.seed, d.stream, uint64_t(at), count, values);
      for (int64_t i = 0; i < count; ++i) wide[i] = values[i] = values[i] * factor + offset;
      const Format& format = *dense.dtype().format();
      void* to = dense.impl()->data() + at * format.itemsize();
      format.def->encode(format.def->compute == Compute::f64 ? static_cast<const void*>(wide) : values, to, count, {});
    }
  });
  if (direct)
    bump(t);
  else
    t.detach().copy_(dense);
}

}  // namespace

void normal_(const Tensor& t, double mean, double std) {
  DY_CHECK(std >= 0, "init.normal_: the standard deviation is negative: std is {}", std);
  if (!t.is_meta()) fill("normal_", t, random_kernel().normal_f32, std, mean);
}
void uniform_(const Tensor& t, double a, double b) {
  DY_CHECK(a <= b, "init.uniform_: the bounds are reversed: a is {}, b is {}", a, b);
  if (!t.is_meta()) fill("uniform_", t, random_kernel().uniform_f32, b - a, a);
}
void constant_(const Tensor& t, double value) {
  if (t.is_meta()) return;
  t.detach().fill_(value);
}

}  // namespace dyadic::inline v1::nn::init
