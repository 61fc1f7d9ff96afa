// Attention of f32, f64 and, decoded to f32, f16 and bf16.
#include "ops/nn/attention_kernel.h"

#include "loops/gemm_bf16.h"
#include "ops/nn/attention_blocked_backward.h"
#include "ops/nn/attention_blocked_forward.h"

namespace dyadic::DY_ISA {

extern const AttentionKernel attention_kernel;
extern const AttentionDotKernel attention_dot_kernel;  // attention_bf16_kernel.cpp

namespace {

template <class T> size_t slots(const AttentionShape& s, bool backward, int threads) {
  return size_t(backward ? backward_slot<T>(s) : forward_slot<T>(s)) * sizeof(T) * size_t(threads) + 128;
}
size_t workspace(const AttentionShape& s, bool backward, int threads, const AttentionFunctions& f) {
  if (&f == &attention_kernel.f64) return slots<double>(s, backward, threads);
  if (&f == &attention_kernel.bf16 && bf16_path() == Bf16Path::dot) return attention_dot_kernel.workspace(s, backward, threads);
  return slots<float>(s, backward, threads);
}
void forward_bf16(const AttentionForward& f) {
  if (bf16_path() == Bf16Path::dot) return attention_dot_kernel.forward(f);
  forward<Bf16, float>(f);
}
void backward_bf16(const AttentionBackward& f) {
  if (bf16_path() == Bf16Path::dot) return attention_dot_kernel.backward(f);
  backward<Bf16, float>(f);
}

}  // namespace

extern const AttentionKernel attention_kernel = {
    .workspace = workspace,
    .f32 = {forward<float, float>, backward<float, float>},
    .f16 = {forward<F16, float>, backward<F16, float>},
    .bf16 = {forward_bf16, backward_bf16},
    .f64 = {forward<double, double>, backward<double, double>},
};

}  // namespace dyadic::DY_ISA
