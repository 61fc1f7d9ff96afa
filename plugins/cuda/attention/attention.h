// Attention on the device: softmax(q k^T scale) v and its gradients without the matrix of scores, tile by tile with a running
// maximum and sum. Queries, or keys where their gradients are made, belong to one block, which visits the others in order: no
// sum depends on the scheduler. Which keys a query sees, and what it gives that sees none: ops/nn/attention_kernel.h.
#pragma once
#include "plugins/cuda/products/sides.h"

namespace dyadic::gpu {

// Element [b, h, t, d] lies b * .b + h * .h + t * .t + d elements from the first.
struct HeadSteps {
  int64_t b, h, t;
};
struct AttentionPlan {
  int64_t batch, heads, tq, tk, width;
  double scale;
  bool causal;
  Code code, result_code;  // of what is read and what is written
  HeadSteps q, k, v, out, dout, dq, dk, dv;
  int64_t parts = 1, keys = 0;  // of forward16: the keys are cut into parts of so many
  DY_DEVICE bool sees(int64_t query, int64_t key) const { return key < tk && (!causal || key <= query + (tk - tq)); }
  // Keys before this one are all that queries before `last` see; queries from this one on are all that see keys from `first`
  // on.
  DY_DEVICE int64_t last_key(int64_t last) const {
    const int64_t end = last + (tk - tq);
    return !causal || end > tk ? tk : end < 0 ? 0 : end;
  }
  DY_DEVICE int64_t first_query(int64_t first) const {
    const int64_t begin = first - (tk - tq);
    return !causal || begin < 0 ? 0 : begin;
  }
};
struct AttentionPointers {
  const void *q = nullptr, *k = nullptr, *v = nullptr, *out = nullptr, *dout = nullptr, *lse = nullptr;
  void *result = nullptr, *result_lse = nullptr, *dq = nullptr, *dk = nullptr, *dv = nullptr;
  void* partial = nullptr;  // of a forward whose keys are cut
  void* delta = nullptr;    // of a backward: [batch, heads, tq], each query's sum of dout * out
};

template <class T> DY_DEVICE T* head_of(T* at, const HeadSteps& s, int64_t batch, int64_t head) {
  return at + batch * s.b + head * s.h;
}

// bf16 and f16 on tensor cores, up to this width.
inline constexpr int64_t kMaxWidth16 = 128;
int64_t plan_forward16(AttentionPlan& p);  // bytes of workspace
void forward16(const AttentionPlan& p, const AttentionPointers& at);
bool sum_gradients16(const AttentionPlan& p, const AttentionPointers& at);  // delta; false: not of rows that lie so
void backward16(const AttentionPlan& p, const AttentionPointers& at);

}  // namespace dyadic::gpu
