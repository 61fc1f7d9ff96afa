#include "optim/update_op.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>

#include "corridor/made_ops.h"
#include "optim/adamw_kernel.h"

namespace dyadic::inline v1::optim {
namespace {

// The op's arguments, and where its tensors stand in the order of all.
enum Argument { kParam, kGrad, kNumbers, kRest, kStates, kRule, kSeed, kStream, kStochastic, kArguments };
constexpr int kHead = 3;  // of the numbers: grad_scale, coupled, decoupled; the constants follow

struct UpdateParams {
  const Format *param, *grad, *rest;
  StateArray states[kMaxStates];
  int64_t n;
  int constants, count;  // of states
  Round rounding, state_rounding;
  RuleResult (*rule)(const RuleArrays&, const RuleStep&);
};

// By number, as an argument names them; -1: AdamW's own kernel.
const Rule* all_rules() { return &rule_table().sgd; }
static_assert(sizeof(RuleTable) % sizeof(Rule) == 0);

RuleStep step_of(const UpdateParams& p, const double* numbers) {
  RuleStep s;
  s.grad_scale = numbers[0], s.coupled = numbers[1], s.decoupled = numbers[2];
  std::copy_n(numbers + kHead, p.constants, s.constants);
  s.rounding = p.rounding, s.state_rounding = p.state_rounding;
  return s;
}
void give(const RuleResult& r, void* out) {
  auto* values = static_cast<double*>(out);
  values[0] = double(r.count.nonzero), values[1] = double(r.count.lost);
  values[2] = r.param_squares, values[3] = r.step_squares;
}

void run_rule(const UpdateParams& p, const Pointers& at) {
  RuleArrays a;
  a.param = {at.in[kParam], p.param};
  a.grad = {at.in[kGrad], p.grad};
  if (p.rest) a.rest = {at.in[kRest], p.rest};
  for (int i = 0; i < p.count; ++i) a.state[i] = {at.in[kStates + i], p.states[i].format, p.states[i].geometry};
  a.n = p.n;
  give(p.rule(a, step_of(p, static_cast<const double*>(at.in[kNumbers]))), at.out[0]);
}

AdamwState adamw_state(const StateArray& s, void* data) {
  if (!s.format->is_scaled()) return {data, nullptr};
  const PlaneList planes = s.format->def->planes(*s.format, s.geometry);
  char* base = static_cast<char*>(data);
  return {base + planes.plane[0].offset, reinterpret_cast<float*>(base + planes.plane[1].offset)};
}
void run_adamw(const UpdateParams& p, const Pointers& at) {
  const auto* numbers = static_cast<const double*>(at.in[kNumbers]);
  const double* c = numbers + kHead;
  AdamwStep k{c[0], c[1], c[2], c[3], numbers[2], c[4], c[5], numbers[0], p.rounding};
  const UpdateCount count = adamw_kernel().step({{at.in[kParam], p.param},
                                                 {at.in[kGrad], p.grad},
                                                 adamw_state(p.states[0], at.in[kStates]),
                                                 adamw_state(p.states[1], at.in[kStates + 1]),
                                                 p.n},
                                                k);
  give({count}, at.out[0]);
}

UpdateParams params_of(const Call& c) {
  UpdateParams p{};
  p.param = c.tensor(kParam).dtype().format();
  p.grad = c.tensor(kGrad).dtype().format();
  p.rest = c.has(kRest) ? c.tensor(kRest).dtype().format() : nullptr;
  for (const Tensor& s : c.tensors(kStates)) p.states[p.count++] = {nullptr, s.dtype().format(), s.impl()->storage->geometry};
  p.n = c.tensor(kParam).numel();
  p.constants = int(c.tensor(kNumbers).numel()) - kHead;
  if (c.boolean(kStochastic)) {
    const auto seed = uint64_t(c.integer(kSeed)), stream = uint64_t(c.integer(kStream));
    p.rounding = {Rounding::stochastic, seed, stream, 0};
    p.state_rounding = {Rounding::stochastic, ~seed, stream, 0};
  }
  return p;
}
void plan(Call& c) {
  const int64_t rule = c.integer(kRule);
  UpdateParams p = params_of(c);
  if (rule < 0) return c.plan.set<run_adamw>(p);
  p.rule = all_rules()[rule].run;
  c.plan.set<run_rule>(p);
}

void infer_update(Call& c) {  // how many elements moved, how many should have; squares of parameter and step
  c.spec[0].dtype = f64;
  c.spec[0].device = c.tensor(kParam).device();
  c.spec[0].shape({kUpdateFigures});
}
double flops(const Call& c) { return 4.0 * double(2 + c.tensors(kStates).size()) * double(c.tensor(kParam).numel()); }

Op make_op(std::string name) {
  static const Kernel kernel{.plan = plan, .blocked = 0xffff};
  for (char& c : name) c = char(std::tolower(c));
  auto op = std::make_unique<MadeOp>();
  op->name = name + "_step";
  op->sig = op->name +
            "(Tensor(a!) param, Tensor grad, Tensor numbers, Tensor(b!)? rest, Tensor(c!)[] states, int rule, int seed, int "
            "stream, bool stochastic) -> Tensor";
  op->doc = "One step of " + name + " for one parameter, in one pass over memory.";
  op->def.infer = infer_update;
  op->def.flops = flops;
  op->def.writes = uint16_t(~(in(kGrad) | in(kNumbers)));
  std::fill_n(op->kernel, int(Column::reference), &kernel);  // the instruction sets'
  return add_op(std::move(op));
}
Op op_of(const std::string& optimizer) {
  static std::mutex mutex;
  static std::map<std::string, Op> made;
  const std::lock_guard lock(mutex);
  const auto it = made.find(optimizer);
  return it != made.end() ? it->second : made.emplace(optimizer, make_op(optimizer)).first->second;
}

}  // namespace

Tensor run_update(const std::string& optimizer, const Rule* rule, const UpdateTensors& t, const UpdateNumbers& n,
                  const UpdateRounding& rounding) {
  const Tensor numbers = make_numbers({kHead + n.count}, f64);
  auto* to = reinterpret_cast<double*>(numbers.impl()->data());
  to[0] = n.grad_scale, to[1] = n.coupled, to[2] = n.decoupled;
  std::copy_n(n.constants, n.count, to + kHead);
  Arg args[kArguments];
  args[kParam] = t.param, args[kGrad] = t.grad, args[kNumbers] = numbers, args[kStates] = t.states;
  if (t.rest.defined()) args[kRest] = t.rest;
  args[kRule] = rule ? rule - all_rules() : int64_t(-1);
  args[kSeed] = int64_t(rounding.seed), args[kStream] = int64_t(rounding.stream), args[kStochastic] = rounding.stochastic;
  Tensor counts;
  call_op(op_of(optimizer), args, kArguments, &counts);
  return counts;
}

}  // namespace dyadic::inline v1::optim
