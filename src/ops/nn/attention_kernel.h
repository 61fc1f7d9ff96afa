// Scaled dot-product attention, blocked: softmax(q k^T scale) v and its gradients without the T x T matrix. Each head's queries
// pass in blocks of 64 rows over blocks of 512 keys, with a running maximum and sum (online softmax: Milakov and Gimelshein
// 2018; Dao et al. 2022). Results depend on the shape and the instruction set alone: a head is one thread's work.
//
// Causal: query i sees keys j <= i + (tk - tq). A query that sees no key gives zeros, lse -infinity and no gradient. NaN and
// infinity act as in exp and matrix products; those in keys that a query doesn't see stay out of it, but for the last few keys
// before the diagonal's end (0 * NaN is NaN within a register tile of at most 12 rows).
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"

namespace dyadic::inline v1 {

struct AttentionShape {
  int64_t batch, heads, tq, tk, head_dim;
  bool causal;
  double scale;
};
// Element [b, h, t, d] lies at data + b * .b + h * .h + t * .t + d, in elements: packed [B, T, 3, H, D] needs no copy.
struct AttentionView {
  const void* data;
  int64_t b, h, t;
};
struct AttentionOut {
  void* data;
  int64_t b, h, t;
};

struct AttentionForward {
  AttentionShape shape;
  AttentionView q, k, v;
  AttentionOut out;
  void* lse;  // [batch, heads, tq]: log of the sum of exp(scores); f32, for f64 inputs f64
  void* workspace;
};
struct AttentionBackward {
  AttentionShape shape;
  AttentionView q, k, v, out, dout;
  const void* lse;
  AttentionOut dq, dk, dv;  // overwritten
  void* workspace;
};

struct AttentionFunctions {
  void (*forward)(const AttentionForward&);
  void (*backward)(const AttentionBackward&);
};
struct AttentionKernel {
  // Bytes for `threads` (num_threads() or more) and one of the functions below. Any alignment will do.
  size_t (*workspace)(const AttentionShape& shape, bool backward, int threads, const AttentionFunctions& of);
  AttentionFunctions f32, f16, bf16, f64;  // by the dtype of all operands; f16 and bf16 have sums and softmax in f32
};

// vdpbf16ps, with probabilities and their gradients rounded to bf16: used when bf16_path() is `dot`. Only AVX-512 has it.
struct AttentionDotKernel {
  size_t (*workspace)(const AttentionShape& shape, bool backward, int threads);
  void (*forward)(const AttentionForward&);
  void (*backward)(const AttentionBackward&);
};

}  // namespace dyadic::inline v1

DY_KERNEL(AttentionKernel, attention_kernel)
