// Attention of f32, f64 and, decoded to f32, bf16.
#include "ops/nn/attention_kernel.h"

#include "loops/gemm_bf16.h"
#include "ops/nn/attention_blocked_backward.h"
#include "ops/nn/attention_blocked_forward.h"

namespace dyadic::DY_ISA {

extern const AttentionDotKernel attention_dot_kernel;  // attention_bf16_kernel.cpp

namespace {

template <class T> size_t slots(const AttentionShape& s, bool backward, int threads) {
  return size_t(backward ? backward_slot<T>(s) : forward_slot<T>(s)) * sizeof(T) * size_t(threads) + 128;
}
size_t workspace(const AttentionShape& s, bool backward, int threads, int64_t item) {
  if (item == 8) return slots<double>(s, backward, threads);
  if (item == 2 && bf16_path() == Bf16Path::dot) return attention_dot_kernel.workspace(s, backward, threads);
  return slots<float>(s, backward, threads);
}
void forward_bf16(const AttentionForward& f) {
  if (bf16_path() == Bf16Path::dot) return attention_dot_kernel.forward(f);
  forward<uint16_t, float>(f);
}
void backward_bf16(const AttentionBackward& f) {
  if (bf16_path() == Bf16Path::dot) return attention_dot_kernel.backward(f);
  backward<uint16_t, float>(f);
}

}  // namespace

extern const AttentionKernel attention_kernel = {
    .workspace = workspace,
    .forward_f32 = forward<float, float>,
    .backward_f32 = backward<float, float>,
    .forward_bf16 = forward_bf16,
    .backward_bf16 = backward_bf16,
    .forward_f64 = forward<double, double>,
    .backward_f64 = backward<double, double>,
};

}  // namespace dyadic::DY_ISA
