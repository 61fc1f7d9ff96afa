#include "ops/nn/rotary_embedding.h"
#include "corridor/batching.h"
#include "loops/pointwise.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::rotary_embedding_op {
namespace {

void infer(Call& c) {
  const Tensor &x = c[arg::self], &cosine = c[arg::cos], &sine = c[arg::sin];
  check_float("rotary_embedding", x, "self");
  DY_CHECK_AS(TypeError, plain(cosine) == plain(x) && plain(sine) == plain(x),
              "rotary_embedding: the dtypes differ: self is {}, cos is {}, sin is {}; convert with .to", describe(x),
              describe(cosine), describe(sine));
  bool fits = x.dim() > 0 && cosine.sizes() == sine.sizes() && cosine.dim() > 0 && cosine.dim() <= x.dim() &&
              2 * cosine.size(-1) <= x.size(-1);
  for (int64_t d = 2; fits && d <= cosine.dim(); ++d) fits = cosine.size(-d) == 1 || cosine.size(-d) == x.size(-d);
  DY_CHECK(fits,
           "rotary_embedding: the sizes do not fit: self is {}, cos is {}, sin is {}; [..., 2 n], [..., n] and [..., n] do",
           describe(x), describe(cosine), describe(sine));
  infer_like_first(c);
}

struct Parameters {
  RotaryRows rows;
  Operand x, cosine, sine;
  int64_t copied[3];  // where in the workspace they are copied to; -1: they are read where they lie
  const Format* y;
};
void run(const Parameters& p, const Pointers& at) {
  const Operand* const all[] = {&p.x, &p.cosine, &p.sine};
  Source in[3];
  for (int i = 0; i < 3; ++i) {
    in[i] = {at.in[i], all[i]->format};
    if (p.copied[i] < 0) continue;
    char* const to = static_cast<char*>(at.workspace) + p.copied[i];
    copy_elements(Array(all[i]->sizes(), all[i]->dtype(), to), at.input(i, *all[i]));
    in[i].data = to;
  }
  rotary_kernel().turn(p.rows, in[0], in[1], in[2], {at.out[0], p.y});
}
void plan(Call& c) {
  Parameters p{{}, c.operand(arg::self), c.operand(arg::cos), c.operand(arg::sin), {-1, -1, -1}, result_format(c)};
  Operand read[] = {p.x, p.cosine, p.sine};
  for (int i = 0; i < 3; ++i) {
    if (read[i].stride(-1) == 1 || read[i].size(-1) == 1) continue;
    read[i] = Operand(read[i].sizes(), read[i].dtype());
    p.copied[i] = c.plan.workspace;
    c.plan.workspace += (read[i].count * read[i].itemsize() + 63) / 64 * 64;
  }
  p.rows = rotary_rows(read[0], read[1], read[2]);
  c.plan.set<run>(p);
}

void backward(Grad& g) {
  const Tensor dy = g.g();
  if (g.needs(arg::self)) g.set(arg::self, call(Op::rotary_embedding_, dy, g.in(arg::cos), neg(g.in(arg::sin))));
  if (!g.needs(arg::cos) && !g.needs(arg::sin)) return;
  const Tensor x = g.in(arg::self);
  const Meta& angles = g.in_meta(arg::cos);
  const int64_t n = angles.sizes[angles.ndim - 1];
  const auto half = [&](const Tensor& t, int64_t k) { return narrow(t, -1, k * n, n); };
  if (g.needs(arg::cos)) g.set(arg::cos, add(mul(half(dy, 0), half(x, 0)), mul(half(dy, 1), half(x, 1))));
  if (g.needs(arg::sin)) g.set(arg::sin, sub(mul(half(dy, 1), half(x, 0)), mul(half(dy, 0), half(x, 1))));
}
double flops(const Call& c) { return 3.0 * double(c[arg::self].numel()); }

bool batched(BatchedCall& b) {
  const int64_t n = b.c[arg::self].dim();
  const std::vector<Tensor> turns = broadcast_tensors(std::vector<Tensor>{b.aligned(arg::cos, n), b.aligned(arg::sin, n)});
  b.results[0] = dyadic::rotary_embedding(b.whole(arg::self), turns[0], turns[1]);
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "rotary_embedding(Tensor self, Tensor cos, Tensor sin) -> Tensor",
    .doc =
        "The pairs (x[i], x[i + n]) of self's last dimension turned by angles whose cosines and sines are [..., n], broadcast "
        "over the dimensions before it: x[i] cos[i] - x[i + n] sin[i] and x[i + n] cos[i] + x[i] sin[i]; what is beyond 2 n "
        "stays. "
        "Rotary positions, Su et al. 2021, in the order of GPT-NeoX and Llama.",
    .samples =
        "rotary_embedding(randn(2, 3, 8), randn(3, 4), randn(3, 4))\n"
        "rotary_embedding(randn(2, 4, 3, 11), randn(2, 1, 3, 5), randn(2, 1, 3, 5))\n"
        "rotary_embedding(randn(6), randn(3), randn(3))",
    .bad =
        "rotary_embedding(zeros(2, 3), zeros(2), zeros(2)) => rotary_embedding: the sizes do not fit: self is f32[2, 3], cos "
        "is "
        "f32[2], sin is f32[2]; [..., 2 n], [..., n] and [..., n] do",
    .skip = "torch: PyTorch has none",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::cos) | in(arg::sin), in(arg::self), in(arg::self)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::rotary_embedding_op
