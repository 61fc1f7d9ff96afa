#include "ops/common.h"
#include "ops/index/indexed.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::decompress_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c[arg::self].sizes() == c[arg::mask].sizes(), "decompress: the shapes differ: self is {}, mask is {}",
           describe(c[arg::self]), describe(c[arg::mask]));
  infer_like_first(c);
}
struct Parameters {
  Operand out, self, source;
};
void run(const Parameters& p, const Pointers& at) {
  const void* mask = at.in[arg::mask.tensor];
  const int64_t n = p.out.numel(), count = count_true(mask, n);
  DY_CHECK(count <= p.source.numel(),
           "masked_scatter: the source has fewer elements than the mask true ones: source is {}, the mask has {}",
           describe(p.source), count);
  assign(at.output(0, p.out), at.input(arg::self, p.self));
  move_masked(mask, n, p.out.itemsize(), at.out[0], at.in[arg::source.tensor], false);
}
void plan(Call& c) { c.plan.set<run>(Parameters{c.result(), c.operand(arg::self), c.operand(arg::source)}); }
void backward(Grad& g) {
  const Tensor mask = g.in(arg::mask);
  if (g.needs(arg::self)) g.set(arg::self, masked_fill(g.g(), mask, 0));
  if (!g.needs(arg::source)) return;
  const Meta& m = g.in_meta(arg::source);
  int64_t n = 1;
  for (int64_t s : m.shape()) n *= s;
  const Tensor taken = masked_select(g.g(), mask);
  g.set(arg::source, reshape(constant_pad_nd(taken, {0, n - taken.numel()}), m.shape()));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "decompress(Tensor self, Tensor mask, Tensor source) -> Tensor",
    .doc = "masked_scatter for a mask of self's shape.",
    .internal = true,
    .samples = "decompress(randn(2, 3), mask(2, 3), randn(7))",
    .bad = "decompress(zeros(2), mask(3), zeros(3)) => decompress: the shapes differ: self is f32[2], mask is bool[3]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::mask), 0, in(arg::mask)},
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::decompress_op
