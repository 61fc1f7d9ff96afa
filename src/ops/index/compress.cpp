#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::compress_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c[arg::self].sizes() == c[arg::mask].sizes(), "compress: the shapes differ: self is {}, mask is {}",
           describe(c[arg::self]), describe(c[arg::mask]));
  infer_like_first(c);
  c.spec[0].shape({c[arg::size]});
}
struct Parameters {
  int64_t n, size, width;
};
void run(const Parameters& p, const Pointers& at) {
  const void* mask = at.in[arg::mask.tensor];
  const int64_t count = count_true(mask, p.n);
  DY_CHECK(count == p.size, "compress: the mask has {} true entries, not {}", count, p.size);
  move_masked(mask, p.n, p.width, at.out[0], at.in[0], true);
}
void plan(Call& c) { c.plan.set<run>(Parameters{c[arg::mask].numel(), c[arg::size], c.operand(arg::self).itemsize()}); }
void backward(Grad& g) {
  g.set(arg::self, call(Op::masked_scatter_, zeros(g.in_meta(arg::self).shape(), g.g().dtype(), g.in_meta(arg::self).device),
                        g.in(arg::mask), g.g()));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "compress(Tensor self, Tensor mask, int size) -> Tensor",
    .doc = "The `size` elements where mask, of self's shape, is true: masked_select once the size is known.",
    .internal = true,
    .samples = "compress(randn(0), mask(0), 0)",
    .bad = "compress(zeros(2), mask(3), 1) => compress: the shapes differ: self is f32[2], mask is bool[3]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::mask)},
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::compress_op
