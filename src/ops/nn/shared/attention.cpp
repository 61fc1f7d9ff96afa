#include "ops/nn/attention.h"

#include <cmath>

#include "loops/pointwise.h"

namespace dyadic::inline v1::ops {
namespace {

// What computes on tensors of `d` as they are; f32's for a dtype that is staged.
const AttentionFunctions& functions_of(DType d) {
  const AttentionKernel& k = attention_kernel();
  return d == f64 ? k.f64 : d == bf16 ? k.bf16 : d == f16 ? k.f16 : k.f32;
}
bool staged(DType d) { return d != f32 && &functions_of(d) == &attention_kernel().f32; }
int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

AttentionView view(const Array& a) { return {a.at, a.stride(0), a.stride(1), a.stride(2)}; }
AttentionOut target(const Array& a) { return {a.at, a.stride(0), a.stride(1), a.stride(2)}; }

// Dense f32 arrays in the workspace.
struct Stage {
  char* workspace;
  Array room(const Operand& o) {
    Array a(o.sizes(), f32, workspace);
    workspace += padded(o.numel() * 4);
    return a;
  }
  Array load(const Array& from) {
    const Array a = room(from);
    copy_elements(a, from);
    return a;
  }
  AttentionInputs<Array> load(const AttentionInputs<Array>& a) { return {load(a.q), load(a.k), load(a.v)}; }
};

}  // namespace

int64_t attention_workspace(const AttentionShape& s, DType dtype, bool backward) {
  auto kernel = int64_t(attention_kernel().workspace(s, backward, num_threads(), functions_of(dtype)));
  if (!staged(dtype)) return kernel;
  int64_t heads = s.batch * s.heads * s.head_dim * 4, queries = padded(heads * s.tq), keys = padded(heads * s.tk);
  return kernel + 64 + (backward ? 4 * queries + 4 * keys : 2 * queries + 2 * keys);
}

void attention_forward(const AttentionShape& shape, const AttentionInputs<Array>& a, const Array& out, void* lse,
                       void* workspace) {
  const DType d = a.q.dtype();
  if (staged(d)) {
    Stage stage{static_cast<char*>(workspace)};
    const AttentionInputs<Array> wide = stage.load(a);
    const Array result = stage.room(out);
    attention_forward(shape, wide, result, lse, stage.workspace);
    return copy_elements(out, result);
  }
  functions_of(d).forward({shape, view(a.q), view(a.k), view(a.v), target(out), lse, workspace});
}

void attention_backward(const AttentionShape& shape, const AttentionInputs<Array>& a, const Array& out, const void* lse,
                        const Array& dout, const AttentionInputs<Array>& g, void* workspace) {
  const DType d = a.q.dtype();
  if (staged(d)) {
    Stage stage{static_cast<char*>(workspace)};
    const AttentionInputs<Array> wide = stage.load(a);
    const Array o = stage.load(out), w = stage.load(dout);
    const AttentionInputs<Array> results{stage.room(g.q), stage.room(g.k), stage.room(g.v)};
    attention_backward(shape, wide, o, lse, w, results, stage.workspace);
    copy_elements(g.q, results.q);
    copy_elements(g.k, results.k);
    return copy_elements(g.v, results.v);
  }
  functions_of(d).backward(
      {shape, view(a.q), view(a.k), view(a.v), view(out), view(dout), lse, target(g.q), target(g.k), target(g.v), workspace});
}

// Two products forward and five backward, of half the matrix when causal; softmax not counted.
double attention_flops(const AttentionShape& s, bool backward) {
  double pairs = double(s.tq) * double(s.tk) * (s.causal ? 0.5 : 1.0);
  return (backward ? 10.0 : 4.0) * double(s.batch * s.heads * s.head_dim) * pairs;
}

AttentionInputs<Tensor> attention_gradients(const AttentionShape& shape, const AttentionInputs<Tensor>& a, const Tensor& g) {
  Tensor s = mul(matmul(a.q, a.k.transpose(-1, -2)), shape.scale);
  if (shape.causal)
    s = where(tril(ones({shape.tq, shape.tk}, f32, g.device()), shape.tk - shape.tq), s, scalar_tensor(-INFINITY));
  const Tensor p = softmax(s), dp = matmul(g, a.v.transpose(-1, -2));
  const Tensor ds = mul(mul(p, sub(dp, sum(mul(dp, p), {-1}, true))), shape.scale);
  return {matmul(ds, a.k), matmul(ds.transpose(-1, -2), a.q), matmul(p.transpose(-1, -2), g)};
}

AttentionShape packed_shape(IntList qkv, bool causal) {
  const int64_t T = qkv[1], D = qkv[4];
  return {qkv[0], qkv[3], T, T, D, causal, float(1 / std::sqrt(double(D)))};
}
AttentionInputs<Array> unpack(const Array& qkv) {
  const int64_t sizes[] = {qkv.size(0), qkv.size(3), qkv.size(1), qkv.size(4)};
  const int64_t strides[] = {qkv.stride(0), qkv.stride(3), qkv.stride(1), qkv.stride(4)};
  auto part = [&](int64_t i) { return qkv.view(sizes, strides, i * qkv.stride(2)); };
  return {part(0), part(1), part(2)};
}
Array heads_first(const Array& a) { return a.transposed(1, 2); }

}  // namespace dyadic::inline v1::ops
