// What the attention ops share: operands as strided [B, H, T, D] views, staging for dtypes the kernel does not read, and the
// gradient in ops for when it is itself differentiated.
#pragma once
#include "ops/common.h"
#include "ops/nn/attention_kernel.h"

namespace dyadic::inline v1::ops {

struct AttentionOperands {
  AttentionShape shape;
  Tensor q, k, v;  // [B, H, T, D]
};
// The kernel reads f32, f16, bf16 and f64; other dtypes are staged in f32.
int64_t attention_workspace(const AttentionShape& shape, DType dtype, bool backward);
void attention_forward(const AttentionOperands& a, const Tensor& out, const Tensor& lse, void* workspace);
void attention_backward(const AttentionOperands& a, const Tensor& out, const Tensor& lse, const Tensor& dout, const Tensor& dq,
                        const Tensor& dk, const Tensor& dv, void* workspace);
double attention_flops(const AttentionShape& shape, bool backward);
// dq, dk, dv by ops, with the T x T matrix.
void attention_gradients_in_ops(const AttentionOperands& a, const Tensor& dout, Tensor* dq, Tensor* dk, Tensor* dv);
inline DType lse_type(DType d) { return d == f64 ? f64 : f32; }
// The three [B, H, T, D] views of a packed [B, T, 3, H, D] tensor, and [B, T, H, D] seen as [B, H, T, D].
AttentionOperands unpack(const Tensor& qkv, bool causal);
Tensor heads_first(const Tensor& t);

}  // namespace dyadic::inline v1::ops
