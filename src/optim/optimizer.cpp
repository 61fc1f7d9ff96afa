#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "dyadic/ops.h"
#include "offload/spill.h"
#include "offload/states.h"
#include "optim/lost_updates.h"
#include "optim/optimizers/optimizers.h"
#include "optim/update.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1::optim {
namespace {

Compute compute_of(const Tensor& t) { return t.dtype().format()->compute(); }

// A saved state is what `o` makes of p: as many elements, but for Adafactor's sums of rows and columns.
void check_loaded(const Options& o, bool keep32, const std::string& key, const Tensor& p, const Tensor& saved) {
  const DType want = state_dtype(o, keep32, p, Sign::any), positive = state_dtype(o, keep32, p, Sign::positive);
  const bool other_dtype = key.starts_with("z.") || key.starts_with("compensation.");
  if (key.starts_with("row_var.") || key.starts_with("col_var.")) return;
  DY_CHECK(saved.numel() == p.numel() && (other_dtype || saved.dtype() == want || saved.dtype() == positive),
           "the saved state {} does not fit: it is {}, here {} elements of {}", key, describe(saved), p.numel(), want.name());
}

void note_leaves(const std::vector<ParamGroup>& groups) {  // that lose their gradients
  if (!t_step_watcher) return;
  for (const ParamGroup& g : groups)
    for (auto& [name, p] : g.params) t_step_watcher->leaf(*p.impl());
}

void step_elsewhere(Update&) { fail("Optimizer: step() is that of the class that is derived from it"); }
constexpr OptimizerDef written_def = {"Optimizer(float lr=1e-3)", "One whose step is written by its user.", step_elsewhere};

}  // namespace

const OptimizerDef& optimizer_def(std::string_view name) {
  if (name == written_def.name()) return written_def;
  std::vector<std::string> names;
  for (const OptimizerDef* def : optimizer_defs()) {
    if (def->name() == name) return *def;
    names.push_back(def->name());
  }
  fail<ValueError>("Optimizer: unknown optimizer \"{}\"; did you mean {}?", name, nearest(name, names));
}

Optimizer::Optimizer(std::string_view name, nn::NamedTensors params, Options options, std::vector<std::string> keep32)
    : Optimizer(name, std::vector<ParamGroup>{{std::move(params), {}}}, std::move(options), std::move(keep32)) {}

Optimizer::Optimizer(std::string_view name, std::vector<ParamGroup> groups, Options options, std::vector<std::string> keep32)
    : def_(&optimizer_def(name)), keep32_(std::move(keep32)) {
  for (const OptionDef& d : option_defs(*def_)) defaults_.set(d.name, d.fallback);
  ParamGroup given;
  for (auto& [key, value] : options) put_option(given, key, value);
  for (auto& [key, value] : given.options) defaults_.set(key, value);
  for (ParamGroup& g : groups) add_param_group(std::move(g));
}
Optimizer::~Optimizer() { structure_changed(); }

void Optimizer::set_option(ParamGroup& group, std::string_view name, Option value) {
  note_refusal("an option of an optimizer that the program sets");  // parts of a step read their own each time
  put_option(group, name, std::move(value));
}
void Optimizer::put_option(ParamGroup& group, std::string_view name, Option value) {
  std::string known;
  for (const OptionDef& d : option_defs(*def_)) {
    if (d.name == name) {
      if (d.type == "dtype") value.word = DType::parse(value.word).name();
      check_option(def_->name(), d, value);
      return group.options.set(name, std::move(value));
    }
    known += (known.empty() ? "" : ", ") + d.name;
  }
  fail<ValueError>("{}: an unknown option: {}; there are {}", def_->name(), name, known);
}

bool Optimizer::keeps32(const std::string& name) const {
  return std::find(keep32_.begin(), keep32_.end(), name) != keep32_.end();
}

void Optimizer::add_param_group(ParamGroup group) {
  ParamGroup made{std::move(group.params), defaults_};
  for (auto& [key, value] : group.options) put_option(made, key, value);
  check(made);
  check_new(made);
  groups_.push_back(std::move(made));
  structure_changed();
}

void Optimizer::replace_groups(std::vector<ParamGroup> groups) {
  structure_changed();
  States kept;
  for (const ParamGroup& g : groups) {
    check(g);
    for (auto& [name, p] : g.params)
      if (auto state = states_.extract(p.impl())) kept.insert(std::move(state));
  }
  if (auto state = states_.extract(nullptr)) kept.insert(std::move(state));
  groups_ = std::move(groups);
  states_ = std::move(kept);
}

void Optimizer::check(const ParamGroup& group) const {
  const std::string who = def_->name();
  if (def_ == &written_def) return;
  if (const Option* kept = group.options.find("compensation"))
    DY_CHECK_AS(ValueError, kept->is_none() || !group.options.flag("stochastic_rounding"),
                "{}: stochastic_rounding and compensation are two remedies for one loss; choose one", who);
  for (auto& [name, p] : group.params) {
    const FormatDef& f = *p.dtype().format()->def;
    if (p.dtype().is_scaled() && !p.requires_grad()) continue;  // stored weights that stay as they are
    DY_CHECK_AS(TypeError, f.kind == dyadic::Kind::floating && f.bits >= 8 && f.mantissa_bits > 0,
                "{}: {} is {}; parameters are floats of at least 8 bits", who, name, dyadic::describe(p));
    if (def_->check) def_->check(who.c_str(), group.options, p);
  }
}

void Optimizer::check_new(const ParamGroup& group) const {
  const std::string who = def_->name();
  std::set<std::string_view> names;
  std::set<TensorImpl*> tensors;
  for (const ParamGroup& g : groups_)
    for (auto& [name, p] : g.params) names.insert(name), tensors.insert(p.impl());
  for (auto& [name, p] : group.params) {
    DY_CHECK_AS(ValueError, tensors.insert(p.impl()).second, "{}: {} is given twice; a parameter belongs to one group", who,
                name);
    DY_CHECK_AS(ValueError, p.is_leaf(), "{}: a parameter is not a leaf: {} was made by {}; its gradient would not be kept",
                who, name, p.grad_fn().name());
    DY_CHECK_AS(ValueError, names.insert(name).second, "{}: two parameters are called {}; states are kept by name", who, name);
  }
}

// A step that sees nothing because zero_grad() stood in the wrong place is the commonest silent mistake of a training loop.
void Optimizer::check_gradients() {
  bool any = false, nonzero = !dropped_;
  for (const ParamGroup& g : groups_)
    for (auto& [name, p] : g.params) {
      const Tensor d = p.grad();
      if (!d.defined()) continue;
      DY_CHECK(d.sizes() == p.sizes() && d.device() == p.device(),
               "{}.step(): the gradient of {} does not fit: the parameter is {}, the gradient {}", def_->name(), name,
               describe(p), describe(d));
      any = true;
      nonzero = nonzero || d.is_meta() || total_norm({&d, 1}) != 0;
    }
  if (!any)
    warn_once(def_->name() +
              ".step(): no parameter has a gradient, nothing was updated: zero_grad() came between backward() and step(), or "
              "backward() was not called; the order is zero_grad(), backward(), step()");
  else if (!nonzero)
    warn_once(def_->name() +
              ".step(): all gradients are zero: zero_grad() came between backward() and step(); the order is zero_grad(), "
              "backward(), step()");
  consumed_ = true;
  dropped_ = false;
}

void Optimizer::update(ParamGroup& group, const std::string& name, const Tensor& p, uint64_t stream, double grad_scale) {
  Tensor grad = p.grad();
  if (!grad.defined()) return;
  DY_CHECK(p.is_meta() || p.is_contiguous(), "{}: {} is not contiguous", def_->name(), name);
  ParamState& state = states_[p.impl()];
  const offload::Turn turn(p, state.tensors);
  ++state.steps;
  Update u(*this, group, name, state, stream, grad_scale);
  u.p = p;
  // Both decode to the type the rules compute in.
  u.grad = (compute_of(grad) == compute_of(p) ? grad : grad.to(p.dtype())).contiguous();
  def_->step(u);
  offload::let_go(p, state.tensors);
}

void Optimizer::read_ahead(const Tensor& p) const {
  if (!offload::is_spilled(p)) return;
  const auto state = states_.find(p.impl());
  if (state != states_.end() && p.grad().defined()) offload::read_ahead(p, state->second.tensors);
}

void Optimizer::step(double grad_scale) {
  DY_CHECK(def_->step, "{}: step() takes a closure that computes the loss and its gradients", def_->name());
  const StepPart part("an optimizer's step", [this, grad_scale] { step(grad_scale); }, this, grad_scale);
  NoGrad guard;
  count_step();
  uint64_t stream = 0;
  try {
    for (ParamGroup& g : groups_)
      for (size_t i = 0; i < g.params.size(); ++i) {
        if (i + 1 < g.params.size()) read_ahead(g.params[i + 1].second);
        update(g, g.params[i].first, g.params[i].second, ++stream, grad_scale);
      }
    count_updates();
  } catch (...) {
    uncounted_.clear();
    throw;
  }
  check_updates();
}

thread_local bool t_reports_updates = false;

UpdateMeter Optimizer::updates() const {
  UpdateMeter all;
  for (const ParamGroup& g : groups_) all.nonzero += g.updates.nonzero, all.lost += g.updates.lost;
  return all;
}
void Optimizer::clear_updates() {
  for (ParamGroup& g : groups_) g.updates = {};
}
void Optimizer::count_updates() {
  const std::vector<Uncounted> all = std::exchange(uncounted_, {});
  if (all.empty()) return;
  std::vector<Tensor> counts;
  for (const Uncounted& u : all) counts.push_back(u.counts);
  const Tensor there = cat(counts);
  if (there.is_meta()) return;
  const Tensor here = there.to(cpu);
  const double* r = here.data<double>();
  for (const Uncounted& u : all) {
    for (UpdateMeter* m : {u.group, u.own}) count_update(*m, r);
    r += kUpdateFigures;
  }
}
// Half of the steps lost: training stands still where nobody looks.
void Optimizer::check_updates() {
  constexpr int64_t kSteps = 10;
  if (step_ < kSteps || t_reports_updates) return;
  for (size_t i = 0; i < groups_.size(); ++i)
    if (const ParamGroup& g = groups_[i]; g.updates.share() > 0.5) {
      warn_once(fmt::format(
          "{}.step(): most updates of group {} are too small for its parameters' dtype, {}, and round to nothing; pass "
          "stochastic_rounding=True or compensation=\"kahan\", keep f32 parameters under autocast, or raise the learning rate",
          def_->name(), i, g.params[0].second.dtype().name()));
    }
}

void Optimizer::count_step() {
  check_gradients();
  ++step_;
}

double Optimizer::step_closure(double (*closure)(void*), void* context) {
  note_refusal("an optimizer's step with a closure");
  if (def_->step) {
    GradMode on(true);
    const double loss = closure(context);
    step();
    return loss;
  }
  DY_CHECK_AS(ValueError, groups_.size() == 1, "LBFGS: it has no parameter groups; {} were given", groups_.size());
  NoGrad guard;
  ++step_;
  return lbfgs_step(groups_[0], states_[nullptr], closure, context);
}

void Optimizer::zero_grad(bool set_to_none) {
  note_leaves(groups_);
  const StepPart part(
      "zero_grad",
      [this, set_to_none] {
        pull();
        zero_grad(set_to_none);
      },
      this, set_to_none);
  bool had = false;
  for (ParamGroup& g : groups_)
    for (auto& [name, p] : g.params)
      if (Tensor d = p.grad(); d.defined()) {
        had = true;
        if (set_to_none)
          p.set_grad({});
        else
          d.zero_();
      }
  dropped_ = dropped_ || (had && !consumed_);
  consumed_ = false;
}

void Optimizer::set_lr(double lr) {
  for (ParamGroup& g : groups_) set_option(g, "lr", lr);
}

void Optimizer::train(bool on) {
  for (ParamGroup& g : groups_)
    for (auto& [name, p] : g.params)
      if (auto it = states_.find(p.impl()); it != states_.end() && it->second.tensors.contains("z"))
        swap_schedule_free(p, it->second, g.options.number("betas"), on);
}

nn::NamedTensors Optimizer::state_dict() {
  std::map<std::string, const ParamState*> named;  // in the alphabet's order
  for (auto& [key, s] : states_)
    if (!key) named[""] = &s;
  for (ParamGroup& g : groups_)
    for (auto& [name, p] : g.params)
      if (auto it = states_.find(p.impl()); it != states_.end()) named[name] = &it->second;
  nn::NamedTensors out;
  for (auto& [name, s] : named) {
    if (s->steps == 0 && s->tensors.empty() && s->numbers.empty()) continue;
    for (auto& [key, t] : s->tensors) out.emplace_back(key + "." + name, t.dim() == 0 ? t.view({1}) : t);
    for (auto& [key, v] : s->numbers) out.emplace_back(key + "." + name, full({}, v, f64));
    if (s->steps != step_) out.emplace_back("step." + name, full({}, s->steps, i64));
  }
  return out;
}

// As it is where a step can go on from that bit for bit, else in what a new state would be.
Tensor Optimizer::kept_as(const ParamGroup& group, const std::string& name, const Tensor& p, const Tensor& state) const {
  const Tensor t = (state.requires_grad() ? state.detach() : state).to(p.device());
  if (t.dtype().is_blocked()) return t;
  const DType want = state_dtype(group.options, keeps32(name), p, Sign::any), wide = p.dtype() == f64 ? f64 : f32;
  if (!t.dtype().is_floating_point() || t.dtype() == want || t.dtype() == wide) return t.contiguous();
  return t.to(want.is_blocked() ? wide : want).contiguous();
}

void Optimizer::load_state_dict(const nn::NamedTensors& state, int64_t step) {
  DY_CHECK_AS(ValueError, step >= 0, "{}: the saved state has a negative step: {}", def_->name(), step);
  std::map<std::string, std::pair<Tensor, const Options*>> params;
  for (ParamGroup& g : groups_)
    for (auto& [name, p] : g.params) params[name] = {p, &g.options};
  if (!def_->step) params[""] = {Tensor(), nullptr};
  States loaded;
  size_t strangers = 0;
  for (auto& [key, t] : state) {
    const size_t dot = key.find('.');
    const std::string what = key.substr(0, dot), name = dot == key.npos ? "" : key.substr(dot + 1);
    auto it = params.find(name);
    if (it == params.end()) {
      ++strangers;
      continue;
    }
    const Tensor& p = it->second.first;
    auto [slot, fresh] = loaded.try_emplace(p.defined() ? p.impl() : nullptr);
    ParamState& s = slot->second;
    if (fresh) s.steps = step;
    if (what == "step") {
      s.steps = t.item<int64_t>();
    } else if (t.dim() == 0 && t.dtype() == f64) {
      s.numbers[what] = t.item();
    } else {
      if (it->second.second) check_loaded(*it->second.second, keeps32(name), key, p, t);
      CategoryScope scope(Category::optimizer);
      NoGrad guard;
      const bool flat = p.defined() && t.dim() == 1 && t.numel() == p.numel() && !t.dtype().is_blocked();
      const Tensor own = p.defined() && t.device() != p.device() ? t.to(p.device()) : t.clone();
      s.tensors[what] = flat ? own.view(p.sizes()) : own;
      if (p.defined()) offload::follow(p, s.tensors[what]);
    }
  }
  DY_CHECK(strangers == 0, "{}: {} saved states belong to no parameter here; is it the same model?", def_->name(), strangers);
  states_ = std::move(loaded);
  step_ = step;
}

}  // namespace dyadic::inline v1::optim
