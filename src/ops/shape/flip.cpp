#include "loops/strided_copy_kernel.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::flip_op {
namespace {

uint32_t flipped(const Call& c) {
  uint32_t mask = 0;
  for (int64_t d : c[arg::dims]) {
    const uint32_t bit = 1u << wrap_dim("flip", d, c[arg::self].dim());
    DY_CHECK(!(mask & bit), "flip: a dimension is named twice: dims is {}", shape_text(c[arg::dims]));
    mask |= bit;
  }
  return mask;
}
void infer(Call& c) {
  infer_like_first(c);
  flipped(c);
}
struct Parameters {
  Operand out, back;  // back: self with the steps of what is flipped turned round
  int64_t first;      // bytes to its first element
};
void run(const Parameters& p, const Pointers& at) {
  if (p.out.numel() == 0) return;
  strided_copy_kernel().copy(static_cast<char*>(at.out[0]), p.out.steps, static_cast<char*>(at.in[0]) + p.first, p.back.steps,
                             p.back.lengths, p.back.ndim, p.out.itemsize());
}
void plan(Call& c) {
  Operand back = c.operand(arg::self);
  const uint32_t mask = flipped(c);
  int64_t first = 0;
  for (int d = 0; d < back.ndim; ++d) {
    if (!(mask >> d & 1)) continue;
    first += (back.lengths[d] - 1) * back.steps[d] * back.itemsize();
    back.steps[d] = -back.steps[d];
  }
  c.plan.set<run>(Parameters{c.result(), back, first});
}
void backward(Grad& g) { g.set(arg::self, flip(g.g(), g[arg::dims])); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "flip(Tensor self, int[] dims) -> Tensor",
    .doc = "A copy with the order of the entries of dims reversed.",
    .samples =
        "flip(randn(2, 3), [1])\n"
        "flip(randn(2, 3, 4), [0, -1])\n"
        "flip(randn(3), [])\n"
        "flip(randn(0, 2), [0])\n"
        "flip(randn(), [0])",
    .bad = "flip(zeros(2, 3), [0, 0]) => flip: a dimension is named twice: dims is [0, 0]",
    .infer = infer,
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::flip_op
