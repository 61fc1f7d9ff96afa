// Ops that give a tensor's values in another dtype, or to another tensor.
#pragma once
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
inline void plan_assigning(Call& c, TensorArg from, const Round& round = {}) {
  const Assignment a(c.result(), c.operand(from));
  c.plan.workspace = a.workspace;
  c.plan.draws = round.mode == Rounding::stochastic;
  c.plan.set<run_assigning>(Assigning{a, from.tensor, round});
}

}  // namespace dyadic::inline v1::ops
