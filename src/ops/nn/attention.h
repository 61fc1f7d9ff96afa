// What the attention ops share: operands as strided [B, H, T, D] views, staging for dtypes the kernel does not read, and the
// gradient in ops for when it is itself differentiated.
#pragma once
#include "ops/common.h"
#include "ops/nn/attention_kernel.h"

namespace dyadic::inline v1::ops {

// The three operands, or their gradients: [B, H, T, D].
template <class T> struct AttentionInputs {
  T q, k, v;
};
// The kernel reads f32, f16, bf16 and f64; other dtypes are staged in f32.
int64_t attention_workspace(const AttentionShape& shape, DType dtype, bool backward);
void attention_forward(const AttentionShape& s, const AttentionInputs<Array>& a, const Array& out, void* lse, void* workspace);
void attention_backward(const AttentionShape& s, const AttentionInputs<Array>& a, const Array& out, const void* lse,
                        const Array& dout, const AttentionInputs<Array>& gradients, void* workspace);
double attention_flops(const AttentionShape& shape, bool backward);
// By ops, with the T x T matrix.
AttentionInputs<Tensor> attention_gradients(const AttentionShape& s, const AttentionInputs<Tensor>& a, const Tensor& dout);
inline DType lse_type(DType d) { return d == f64 ? f64 : f32; }
// Of a packed [B, T, 3, H, D] tensor: its shape, its three [B, H, T, D] views; and [B, T, H, D] seen as [B, H, T, D].
AttentionShape packed_shape(IntList qkv, bool causal);
AttentionInputs<Array> unpack(const Array& qkv);
Array heads_first(const Array& a);

}  // namespace dyadic::inline v1::ops
