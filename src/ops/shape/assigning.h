// Ops that give a tensor's values in another dtype, or to another tensor.
#pragma once
#include "loops/pointwise.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops {

struct Assigning {
  Assignment assignment;
  int from;  // which of the call's tensors
  Round round;
};
inline void run_assigning(const Assigning& p, const Pointers& at) {
  Round round = p.round;
  round.seed = at.draw.seed, round.stream = at.draw.stream;
  p.assignment.run(at.out[0], at.in[p.from], at.workspace, round);
}
// Neither end is blocked: no need of an Assignment, which is thousands of bytes.
struct Converting {
  Operand to, from;
  int input;
  Round round;
};
inline void run_converting(const Converting& p, const Pointers& at) {
  Round round = p.round;
  round.seed = at.draw.seed, round.stream = at.draw.stream;
  copy_elements(p.to, at.out[0], p.from, at.in[p.input], round);
}
inline void plan_assigning(Call& c, TensorArg from, const Round& round = {}) {
  const Tensor& given = c[from];
  const DType wanted = c.out[0].defined() ? c.out[0].dtype() : c.spec[0].dtype;
  if (!given.dtype().is_blocked() && !wanted.is_blocked()) {
    Converting& p = c.plan.make<run_converting, Converting>();
    p.to = c.result(), p.from = Operand(*given.impl()), p.input = from.tensor, p.round = round;
    c.plan.draws = round.mode == Rounding::stochastic;
    return;
  }
  const Assignment a(c.result(), c.operand(from));
  c.plan.workspace = a.workspace;
  c.plan.draws = round.mode == Rounding::stochastic;
  c.plan.set<run_assigning>(Assigning{a, from.tensor, round});
}

}  // namespace dyadic::inline v1::ops
