#include "optim/update.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "corridor/counters.h"

namespace dyadic::inline v1::optim {
namespace {

AdamwState adamw_state(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  if (!i.dtype.is_scaled()) return {i.data(), nullptr};
  PlaneList planes = i.dtype.format()->def->planes(*i.dtype.format(), i.storage->geometry);
  char* base = static_cast<char*>(i.storage->data);
  return {base + planes.plane[0].offset, reinterpret_cast<float*>(base + planes.plane[1].offset)};
}
Source source_of(const Tensor& t) { return {t.impl()->data(), t.dtype().format()}; }
Target target_of(const Tensor& t) {
  check_writable("step", t);
  return {t.impl()->data(), t.dtype().format()};
}

void fill_state(const Tensor& t, double value) {
  if (t.is_meta()) return;
  if (!t.dtype().is_scaled()) {
    t.fill_(value);
    return;
  }
  const std::vector<float> values(size_t(t.numel()), float(value));
  encode_scaled(*t.dtype().format(), values.data(), t.impl()->storage->data, t.impl()->storage->geometry);
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
  CategoryScope scope(Category::optimizer);
  NoGrad guard;
  const DType d = state_dtype(o, optimizer_.keeps32(name), p, s.sign);
  Tensor made = d.is_blocked() ? make_tensor({p.numel()}, d, p.device()) : make_tensor(p.sizes(), d, p.device());
  fill_state(made, s.initial);
  return state_.tensors[s.name] = made;
}
Tensor& Update::own(const char* key, const Tensor& initial) {
  if (Tensor* t = find(key)) return *t;
  CategoryScope scope(Category::optimizer);
  return state_.tensors[key] = initial.clone();
}
double& Update::remembered(const char* key, double initial) { return state_.numbers.emplace(key, initial).first->second; }

void Update::count(const UpdateCount& c) {
  group_.updates.nonzero += c.nonzero;
  group_.updates.lost += c.lost;
}
void Update::account(std::initializer_list<StateRef> states) {
  if (!(t_modes & kCounting)) return;
  double bytes = double(p.nbytes()) * 2 + double(grad.nbytes());
  for (const StateRef& s : states) bytes += 2 * double(state(s).nbytes());
  if (const Tensor* r = rest()) bytes += 2 * double(r->nbytes());
  std::string kind = optimizer_.def().name();
  for (char& c : kind) c = char(std::tolower(c));
  count_work(kind.c_str(), states.size() ? state(*states.begin()).dtype() : p.dtype(),
             4.0 * double(2 + states.size()) * double(p.numel()), bytes);
}

Tensor* Update::rest() {
  if (!o.has("compensation") || p.dtype().bits() > 16) return nullptr;
  if (Tensor* t = find("compensation")) return t;
  CategoryScope scope(Category::optimizer);
  return &(state_.tensors["compensation"] = zeros(p.sizes(), o.word("compensation") == "f32" ? f32 : p.dtype(), p.device()));
}

bool Update::run_adamw(double weight_decay) {
  Tensor &m = state({"exp_avg"}), &v = state({"exp_avg_sq", Sign::positive});
  const DType d = p.dtype();
  if (rest()) return false;
  const bool fits = (m.dtype() == f32 && v.dtype() == f32) || (m.dtype() == dynamic8 && v.dtype() == udynamic8);
  if (!fits || (d != f32 && d != bf16 && d != f16)) return false;
  account({{"exp_avg"}, {"exp_avg_sq", Sign::positive}});
  if (p.is_meta()) return true;
  AdamwStep k;
  k.lr = lr;
  k.beta1 = beta(0);
  k.beta2 = beta(1);
  k.eps = number("eps");
  k.weight_decay = weight_decay;
  k.bias1 = bias(0);
  k.bias2 = bias(1);
  k.grad_scale = scale;
  if (stochastic_) k.rounding = {Rounding::stochastic, seed_, stream_, 0};
  count(adamw_kernel().step({target_of(p), source_of(grad), adamw_state(m), adamw_state(v), p.numel()}, k));
  bump(p);
  return true;
}

RuleResult Update::run(const Rule& rule, std::initializer_list<StateRef> states, std::initializer_list<double> constants,
                       Decay how) {
  DY_ASSERT(states.size() == size_t(rule.states) && constants.size() <= size_t(kMaxConstants));
  RuleArrays a;
  size_t k = 0;
  for (const StateRef& s : states) {
    const Tensor& st = state(s);
    void* data = !st.is_meta() ? st.dtype().is_scaled() ? st.impl()->storage->data : st.impl()->data() : nullptr;
    a.state[k++] = {data, st.dtype().format(), st.impl()->storage->geometry};
  }
  account(states);
  Tensor* kept = rest();
  if (p.is_meta()) return {};
  if (kept) a.rest = target_of(*kept);
  a.param = target_of(p);
  a.grad = source_of(grad);
  a.n = p.numel();
  RuleStep step;
  std::copy(constants.begin(), constants.end(), step.constants);
  step.grad_scale = scale;
  step.coupled = how == Decay::coupled ? decay : 0;
  step.decoupled = how == Decay::decoupled ? lr * decay : 0;
  if (stochastic_) {
    step.rounding = {Rounding::stochastic, seed_, stream_, 0};
    step.state_rounding = {Rounding::stochastic, ~seed_, stream_, 0};
  }
  const RuleResult r = rule.run(a, step);
  count(r.count);
  bump(p);
  return r;
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
