// Ops that give another tensor with a part of it written: parts are found by views, once, and written by their geometry.
#pragma once
#include "ops/common.h"

namespace dyadic::inline v1::ops {

struct Part {
  Operand operand;
  int64_t offset = 0;  // bytes from the whole's first element
  Array in(const Array& whole) const { return {operand, whole.at + offset}; }
};
// view(whole) of an operand: a view op on a tensor of that geometry, which has no memory.
template <class F> Part part_of(const Operand& whole, F&& view) {
  const NoGrad guard;
  int64_t low = 0, high = 0;
  for (int d = 0; d < whole.ndim && whole.numel(); ++d)
    (whole.steps[d] < 0 ? low : high) += (whole.lengths[d] - 1) * whole.steps[d];
  const Tensor memory = make_over(nullptr, {high - low + 1}, whole.dtype());
  const Tensor part = view(make_view(memory, whole.sizes(), whole.strides(), -low));
  return {Operand(*part.impl()), (part.storage_offset() + low) * whole.itemsize()};
}

struct PartWritten {
  Operand out, self, src;
  Part part;
};
inline void run_part_written(const PartWritten& p, const Pointers& at) {
  const Array out = at.output(0, p.out);
  if (at.in[0] != at.out[0]) assign(out, at.input(0, p.self));
  assign(p.part.in(out), at.input(1, p.src));
}
// Of op(self, src, ...): self, but view(self) is src.
template <class F> void plan_part_written(Call& c, F&& view) {
  const Operand out = c.result();
  c.plan.set<run_part_written>(PartWritten{out, c.operand(0), c.operand(1), part_of(out, view)});
}

}  // namespace dyadic::inline v1::ops
