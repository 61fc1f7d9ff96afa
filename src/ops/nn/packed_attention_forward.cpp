#include "corridor/batching.h"
#include "ops/nn/attention.h"

namespace dyadic::inline v1::ops::packed_attention_forward_op {
namespace {

AttentionShape shape_of(const Call& c) { return packed_shape(c[arg::qkv].sizes(), c[arg::is_causal]); }
void infer(Call& c) {
  const Tensor& t = c[arg::qkv];
  check_float("packed_attention", t, "qkv");
  DY_CHECK(t.dim() == 5 && t.size(2) == 3, "packed_attention: qkv must be [B, T, 3, H, D]: qkv is {}", describe(t));
  c.nout = 2;
  c.spec[0].dtype = plain(t);
  c.spec[0].device = c.spec[1].device = t.device();
  int64_t out[] = {t.size(0), t.size(1), t.size(3), t.size(4)}, lse[] = {t.size(0), t.size(3), t.size(1)};
  c.spec[0].shape(out);
  c.spec[1].dtype = lse_type(plain(t));
  c.spec[1].shape(lse);
}
struct Parameters {
  AttentionShape shape;
  Operand qkv, out;
};
void run(const Parameters& p, const Pointers& at) {
  attention_forward(p.shape, unpack(at.input(0, p.qkv)), heads_first(at.output(0, p.out)), at.out[1], at.workspace);
}
void plan(Call& c) {
  const AttentionShape s = shape_of(c);
  c.plan.workspace = attention_workspace(s, c[arg::qkv].dtype(), false);
  c.plan.set<run>(Parameters{s, c.operand(arg::qkv), c.result()});
}
void backward(Grad& g) {
  if (!GradMode::enabled()) {
    g.set(arg::qkv,
          call(Op::packed_attention_backward_, g.g().contiguous(), g.in(arg::qkv), g.out(0), g.out(1), g[arg::is_causal]));
    return;
  }
  const Tensor packed = g.in(arg::qkv).permute({2, 0, 3, 1, 4});
  const AttentionShape s = packed_shape(g.in(arg::qkv).sizes(), g[arg::is_causal]);
  const auto d = attention_gradients(s, {packed[0], packed[1], packed[2]}, g.g().transpose(1, 2));
  const Tensor all[] = {d.q, d.k, d.v};
  g.set(arg::qkv, stack(all, 0).permute({1, 3, 0, 2, 4}));
}
double flops(const Call& c) { return attention_flops(shape_of(c), false); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "packed_attention_forward(Tensor qkv, bool is_causal) -> (Tensor, Tensor)",
    .doc = "packed_attention, and the log of each query's sum of exponentials [B, H, T].",
    .amp = Amp::lower,
    .internal = true,
    .samples = "packed_attention_forward(randn(2, 5, 3, 2, 4), True)\npacked_attention_forward(randn(1, 3, 3, 1, 2), False)",
    .skip = "second_output: lse is not differentiated",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::qkv) | out(0) | out(1)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kFirst();

}  // namespace dyadic::inline v1::ops::packed_attention_forward_op
