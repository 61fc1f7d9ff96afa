#include "optim/update.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "device/backend.h"
#include "offload/states.h"
#include "optim/update_op.h"

namespace dyadic::inline v1::optim {
namespace {

// Of a device encoded here: there the values themselves would take memory for a moment.
Tensor make_state(IntList sizes, DType dtype, Device device, double value) {
  const bool encoded_here = dtype.is_scaled() && !device.is_meta();
  const Tensor t = make_tensor(sizes, dtype, encoded_here ? Device(cpu) : device);
  if (t.is_meta()) return t;
  if (!dtype.is_scaled()) return t.fill_(value);
  const std::vector<float> values(size_t(t.numel()), float(value));
  encode_scaled(*dtype.format(), values.data(), t.impl()->storage->data, t.impl()->storage->geometry);
  return t.to(device);
}

double number_or_zero(const Options& o, std::string_view name) {  // of an option that not all have
  const Option* found = o.find(name);
  return found && !found->numbers.empty() ? found->numbers[0] : 0;
}

}  // namespace

Update::Update(Optimizer& optimizer, ParamGroup& group, const std::string& name, ParamState& state, uint64_t stream,
               double grad_scale)
    : o(group.options),
      name(name),
      scale(number_or_zero(o, "maximize") != 0 ? -grad_scale : grad_scale),
      t(state.steps),
      lr(o.number("lr")),
      decay(number_or_zero(o, "weight_decay")),
      optimizer_(optimizer),
      group_(group),
      state_(state),
      stream_(stream),
      seed_(uint64_t(o.number("seed")) + uint64_t(optimizer.step_) * 0x9e3779b97f4a7c15u),
      stochastic_(o.flag("stochastic_rounding")) {}

double Update::bias(size_t i) const { return 1 - std::pow(beta(i), double(t)); }

DType state_dtype(const Options& o, bool keep32, const Tensor& p, Sign sign) {
  const DType d = DType::parse(o.word("state"));
  const bool small = keep32 || p.numel() < 4096;
  if (p.dtype() == f64) return f64;
  if (d.bits() <= 8 && small) return f32;
  // A zero among what has no sign would divide: four bits are for the states that have one.
  return sign == Sign::positive && (d == dynamic8 || d.bits() == 4) ? udynamic8 : d;
}
Tensor* Update::find(std::string_view key) {
  auto it = state_.tensors.find(key);
  return it == state_.tensors.end() ? nullptr : &it->second;
}
Tensor& Update::state(const StateRef& s) {
  if (Tensor* t = find(s.name)) {
    DY_CHECK_AS(ValueError, t->numel() == p.numel() && (t->dtype().is_blocked() || t->is_contiguous()),
                "{}: the state {} of {} does not fit: it is {}, the parameter {}", optimizer_.def().name(), s.name, name,
                describe(*t), describe(p));
    return *t;
  }
  NoGrad guard;
  const DType d = state_dtype(o, optimizer_.keeps32(name), p, s.sign);
  CategoryScope scope(offload::category_of_state(p, p.numel(), d));
  const int64_t flat[] = {p.numel()};
  return state_.tensors[s.name] = make_state(d.is_blocked() ? IntList(flat, 1) : p.sizes(), d, p.device(), s.initial);
}
Tensor& Update::own(const char* key, const Tensor& initial) {
  if (Tensor* t = find(key)) return *t;
  CategoryScope scope(offload::category_of_state(p, initial.numel(), initial.dtype()));
  return state_.tensors[key] = initial.clone();
}
double& Update::remembered(const char* key, double initial) { return state_.numbers.emplace(key, initial).first->second; }

Tensor* Update::rest() {
  if (!o.has("compensation") || p.dtype().bits() > 16) return nullptr;
  if (Tensor* t = find("compensation")) return t;
  const DType d = o.word("compensation") == "f32" ? f32 : p.dtype();
  CategoryScope scope(offload::category_of_state(p, p.numel(), d));
  return &(state_.tensors["compensation"] = zeros(p.sizes(), d, p.device()));
}

Tensor Update::call(const Rule* rule, std::initializer_list<StateRef> states, const UpdateNumbers& numbers) {
  std::vector<Tensor> tensors;
  for (const StateRef& s : states) tensors.push_back(state(s));
  const Tensor* kept = rest();
  const Tensor counts = run_update(optimizer_.def().name(), rule, {p, grad, kept ? *kept : Tensor(), tensors}, numbers,
                                   {stochastic_, seed_, stream_});
  if (counts.device().is_cuda() || (counts.is_meta() && t_meta_as.is_cuda()))
    optimizer_.uncounted_.push_back({counts, &group_.updates, &state_.updates});
  if (counts.device().is_cpu())
    for (UpdateMeter* m : {&group_.updates, &state_.updates}) count_update(*m, counts.data<double>());
  return counts;
}

bool Update::run_adamw(double weight_decay) {
  Tensor &m = state({"exp_avg"}), &v = state({"exp_avg_sq", Sign::positive});
  const DType d = p.dtype();
  if (rest()) return false;
  const bool fits = (m.dtype() == f32 && v.dtype() == f32) || (m.dtype() == dynamic8 && v.dtype() == udynamic8);
  if (!fits || (d != f32 && d != bf16 && d != f16)) return false;
  UpdateNumbers n;
  n.grad_scale = scale;
  n.decoupled = weight_decay;
  for (const double c : {lr, beta(0), beta(1), number("eps"), bias(0), bias(1)}) n.constants[n.count++] = c;
  call(nullptr, {{"exp_avg"}, {"exp_avg_sq", Sign::positive}}, n);
  return true;
}

UpdateNumbers Update::numbers_of(const Rule& rule, size_t states, std::initializer_list<double> constants, Decay how) const {
  DY_ASSERT(states == size_t(rule.states) && constants.size() <= size_t(kMaxConstants));
  UpdateNumbers n;
  n.grad_scale = scale;
  n.coupled = how == Decay::coupled ? decay : 0;
  n.decoupled = how == Decay::decoupled ? lr * decay : 0;
  for (const double c : constants) n.constants[n.count++] = c;
  return n;
}
void Update::run(const Rule& rule, std::initializer_list<StateRef> states, std::initializer_list<double> constants, Decay how) {
  call(&rule, states, numbers_of(rule, states.size(), constants, how));
}
RuleResult Update::measure(const Rule& rule, std::initializer_list<StateRef> states, std::initializer_list<double> constants) {
  const Tensor counts = call(&rule, states, numbers_of(rule, states.size(), constants, Decay::none));
  if (counts.is_meta()) return {};
  const Tensor here = counts.to(cpu);
  return {{}, here.data<double>()[2], here.data<double>()[3]};
}

Tensor Update::gradient() const {
  const Tensor g = grad.to(p.dtype() == f64 ? f64 : f32);
  return scale == 1 ? g : g * scale;
}
void Update::subtract(const Tensor& step, Decay how) {
  Update plain = *this;
  plain.grad = step.contiguous();
  plain.scale = 1;
  plain.run(rule_table().sgd, {}, {1}, how);
}

}  // namespace dyadic::inline v1::optim
