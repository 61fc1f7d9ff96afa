// Ops that give a tensor's values in another dtype, or to another tensor (src/ops/shape/assigning.h says which values).
#include "base/check.h"
#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/kernel.h"

namespace dyadic::gpu {
namespace {

struct Moving {
  Transfer transfer;
  int from;  // which of the call's tensors
  Round round;
};
Round drawn(Round round, const Draw& d) {
  round.seed = d.seed, round.stream = d.stream;
  return round;
}
void run_moving(const Moving& p, const Pointers& at) { p.transfer.run(at.out[0], at.in[p.from], drawn(p.round, at.draw)); }

struct Assigning {
  Operand to, from;
  int input;
  Round round;
};
void run_assigning(const Assigning& p, const Pointers& at) {
  assign(at.output(0, p.to), at.input(p.input, p.from), drawn(p.round, at.draw), at.workspace);
}

void plan_assigning(Call& c, TensorArg from, const Round& round = {}) {
  const Operand to = c.result(), source = c.operand(from);
  c.plan.draws = round.mode == Rounding::stochastic;
  if (!to.format->is_blocked() && !source.format->is_blocked()) {
    c.plan.set<run_moving>(Moving{plan_transfer(to, source, c.plan.draws), from.tensor, round});
    return;
  }
  const int64_t room = assign_room(to, source);
  DY_CHECK_AS(NoKernel, room >= 0,
              "{}: there is no code for it on cuda from {} to {}; within torch.cuda.cpu_fallback() it runs on the host", c.name,
              source.format->text, to.format->text);
  c.plan.workspace = room;
  c.plan.set<run_assigning>(Assigning{to, source, from.tensor, round});
}

void plan_to(Call& c) { plan_assigning(c, ops::to_op::arg::self); }
void plan_clone(Call& c) { plan_assigning(c, ops::clone_op::arg::self); }
void plan_copy(Call& c) { plan_assigning(c, ops::copy_op::arg::src); }
void plan_cast(Call& c) {
  namespace arg = ops::cast_op::arg;
  const auto overflow = c[arg::overflow];
  plan_assigning(c, arg::self,
                 {.mode = c[arg::rounding] == "stochastic" ? Rounding::stochastic : Rounding::nearest,
                  .overflow = overflow == "saturate"  ? Overflow::saturate
                              : overflow == "special" ? Overflow::special
                                                      : Overflow::standard});
}

const Registered to{"to", {.plan = plan_to, .blocked = in(0) | out(0)}};
const Registered clone{"clone", {.plan = plan_clone, .blocked = in(0) | out(0)}};
const Registered copy{"copy", {.plan = plan_copy, .blocked = in(0) | in(1) | out(0)}};
const Registered cast{"cast", {.plan = plan_cast, .blocked = in(0) | out(0)}};

}  // namespace
}  // namespace dyadic::gpu
