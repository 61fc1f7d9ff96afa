#include "corridor/batching.h"
#include "formats/bits.h"
#include "ops/common.h"
#include "ops/precision.h"

namespace dyadic::inline v1::ops::round_tf32_op {
namespace {

void infer(Call& c) {
  check_float("round_tf32", c[arg::self], "self");
  infer_like_first(c);
}
struct Parameters {
  Operand out, self;
};
void run(const Parameters& p, const Pointers& at) {
  const Array out = at.output(0, p.out);
  assign(out, at.input(0, p.self));
  if (out.dtype() == f32) round_floats(out.data<float>(), out.numel(), FewerBits::tf32);
  if (out.dtype() != f64) return;  // narrower floats are tf32 already
  double* x = out.data<double>();
  parallel_for(out.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float y = round_to_odd(x[i]);
      round_floats(&y, 1, FewerBits::tf32);
      x[i] = double(y);
    }
  });
}
void plan(Call& c) { c.plan.set<run>(Parameters{c.result(), c.operand(arg::self)}); }
void backward(Grad& g) { g.set(arg::self, g.g()); }  // straight through, as a conversion there and back

}  // namespace

extern constexpr OpDef record = {
    .sig = "round_tf32(Tensor self) -> Tensor",
    .doc = "The values rounded to tf32: f32's range with 10 bits of fraction. round_to(x, \"tf32\") calls it.",
    .internal = true,
    .samples = "round_tf32(randn(3, 4))",
    .skip = "cost: rounding counts as bytes\ngradcheck: a step function; the gradient goes straight through",
    .infer = infer,
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::round_tf32_op
