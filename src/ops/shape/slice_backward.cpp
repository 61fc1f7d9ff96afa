#include "ops/shape/parts.h"

namespace dyadic::inline v1::ops::slice_backward_op {
namespace {

void infer(Call& c) {
  c.spec[0].dtype = c[arg::self].dtype();
  c.spec[0].device = c[arg::self].device();
  c.spec[0].shape(c[arg::size]);
}
struct Parameters {
  Operand out, self;
  Part part;
};
void run(const Parameters& p, const Pointers& at) {
  const Array out = at.output(0, p.out);
  fill(out, 0);
  assign(p.part.in(out), at.input(0, p.self));
}
void plan(Call& c) {
  const auto bound = [&](AnyArg h) { return c.has(h) ? std::optional(c.arg(h).integer) : std::nullopt; };
  const Operand out = c.result(), self = c.operand(arg::self);
  const Part part =
      part_of(out, [&](const Tensor& t) { return slice(t, c[arg::dim], bound(arg::start), bound(arg::end), c[arg::step]); });
  DY_CHECK(part.operand.sizes() == self.sizes(), "slice_backward: sizes do not fit: self is {}, the slice {}",
           describe(c[arg::self]), shape_text(part.operand.sizes()));
  c.plan.set<run>(Parameters{out, self, part});
}
void backward(Grad& g) {
  const auto bound = [&](AnyArg h) { return g.has(h) ? std::optional(g.arg(h).integer) : std::nullopt; };
  g.set(arg::self, slice(g.g(), g[arg::dim], bound(arg::start), bound(arg::end), g[arg::step]));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "slice_backward(Tensor self, int[] size, int dim, int? start, int? end, int step) -> Tensor",
    .doc = "Zeros of the given size with self written where slice would read: the gradient of slice.",
    .internal = true,
    .samples = "slice_backward(randn(2, 2), [2, 5], 1, 1, 4, 2)",
    .infer = infer,
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::slice_backward_op
