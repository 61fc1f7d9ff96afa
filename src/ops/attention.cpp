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

AttentionView view(const Tensor& t) { return {t.impl()->data(), t.stride(0), t.stride(1), t.stride(2)}; }
AttentionOut target(const Tensor& t) { return {t.impl()->data(), t.stride(0), t.stride(1), t.stride(2)}; }

// A dense f32 tensor in the workspace, with the values of t if `load`.
Tensor stage(const Tensor& t, char*& workspace, bool load) {
  Tensor s = make_over(workspace, t.sizes(), f32);
  workspace += padded(t.numel() * 4);
  if (load) copy_elements(s, t);
  return s;
}

}  // namespace

int64_t attention_workspace(const AttentionShape& s, DType dtype, bool backward) {
  auto kernel = int64_t(attention_kernel().workspace(s, backward, num_threads(), functions_of(dtype)));
  if (!staged(dtype)) return kernel;
  int64_t heads = s.batch * s.heads * s.head_dim * 4, queries = padded(heads * s.tq), keys = padded(heads * s.tk);
  return kernel + 64 + (backward ? 4 * queries + 4 * keys : 2 * queries + 2 * keys);
}

void attention_forward(const AttentionOperands& a, const Tensor& out, const Tensor& lse, void* workspace) {
  DType d = a.q.dtype();
  if (staged(d)) {
    char* w = static_cast<char*>(workspace);
    AttentionOperands wide{a.shape, stage(a.q, w, true), stage(a.k, w, true), stage(a.v, w, true)};
    Tensor result = stage(out, w, false);
    attention_forward(wide, result, lse, w);
    copy_elements(out, result);
    return;
  }
  AttentionForward f{a.shape, view(a.q), view(a.k), view(a.v), target(out), lse.impl()->data(), workspace};
  functions_of(d).forward(f);
}

void attention_backward(const AttentionOperands& a, const Tensor& out, const Tensor& lse, const Tensor& dout, const Tensor& dq,
                        const Tensor& dk, const Tensor& dv, void* workspace) {
  DType d = a.q.dtype();
  if (staged(d)) {
    char* w = static_cast<char*>(workspace);
    AttentionOperands wide{a.shape, stage(a.q, w, true), stage(a.k, w, true), stage(a.v, w, true)};
    Tensor o = stage(out, w, true), g = stage(dout, w, true), q = stage(dq, w, false);
    Tensor k = stage(dk, w, false), v = stage(dv, w, false);
    attention_backward(wide, o, lse, g, q, k, v, w);
    copy_elements(dq, q);
    copy_elements(dk, k);
    copy_elements(dv, v);
    return;
  }
  AttentionBackward b{a.shape,    view(a.q),  view(a.k),  view(a.v), view(out), view(dout), lse.impl()->data(),
                      target(dq), target(dk), target(dv), workspace};
  functions_of(d).backward(b);
}

// Two products forward and five backward, of half the matrix when causal; softmax not counted.
double attention_flops(const AttentionShape& s, bool backward) {
  double pairs = double(s.tq) * double(s.tk) * (s.causal ? 0.5 : 1.0);
  return (backward ? 10.0 : 4.0) * double(s.batch * s.heads * s.head_dim) * pairs;
}

void attention_gradients_in_ops(const AttentionOperands& a, const Tensor& g, Tensor* dq, Tensor* dk, Tensor* dv) {
  double scale = double(a.shape.scale);
  Tensor s = mul(matmul(a.q, a.k.transpose(-1, -2)), scale);
  if (a.shape.causal) s = where(tril(ones({a.shape.tq, a.shape.tk}), a.shape.tk - a.shape.tq), s, scalar_tensor(-INFINITY));
  Tensor p = softmax(s);
  *dv = matmul(p.transpose(-1, -2), g);
  Tensor dp = matmul(g, a.v.transpose(-1, -2));
  Tensor ds = mul(mul(p, sub(dp, sum(mul(dp, p), {-1}, true))), scale);
  *dq = matmul(ds, a.k);
  *dk = matmul(ds.transpose(-1, -2), a.q);
}

AttentionOperands unpack(const Tensor& qkv, bool causal) {
  const TensorImpl& t = *qkv.impl();
  int64_t B = t.sizes[0], T = t.sizes[1], H = t.sizes[3], D = t.sizes[4];
  int64_t sizes[] = {B, H, T, D}, strides[] = {t.strides[0], t.strides[3], t.strides[1], t.strides[4]};
  auto part = [&](int i) { return make_view(qkv, sizes, strides, t.offset + i * t.strides[2]); };
  return {{B, H, T, T, D, causal, float(1 / std::sqrt(double(D)))}, part(0), part(1), part(2)};
}
Tensor heads_first(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  int64_t sizes[] = {i.sizes[0], i.sizes[2], i.sizes[1], i.sizes[3]},
          strides[] = {i.strides[0], i.strides[2], i.strides[1], i.strides[3]};
  return make_view(t, sizes, strides, i.offset);
}

}  // namespace dyadic::inline v1::ops
