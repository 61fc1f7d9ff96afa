#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "dyadic/lr_scheduler.h"
#include "optim/update.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1::optim {
namespace {

constexpr const char *kAsked = "a schedule is asked for its numbers", *kTold = "a schedule is told a number by the program";

const SchedulerDef& scheduler_def(std::string_view name) {
  std::vector<std::string> names;
  for (const SchedulerDef& def : scheduler_defs()) {
    if (def.name() == name) return def;
    names.push_back(def.name());
  }
  fail<ValueError>("LRScheduler: unknown schedule \"{}\"; did you mean {}?", name, nearest(name, names));
}
double get(const ScheduleState& state, const char* key, const char* who) {
  auto it = state.find(key);
  DY_CHECK_AS(ValueError, it != state.end() && !it->second.empty(), "{}: the saved state has no {}", who, key);
  return it->second[0];
}
// The states of several schedules in one: "0.last_epoch", "1.last_epoch" ...
ScheduleState join(const std::vector<std::shared_ptr<Schedule>>& all, int64_t epoch) {
  ScheduleState out{{"last_epoch", {double(epoch)}}};
  for (size_t i = 0; i < all.size(); ++i)
    for (auto& [key, v] : all[i]->state_dict()) out[std::to_string(i) + "." + key] = v;
  return out;
}
void split(const ScheduleState& state, const std::vector<std::shared_ptr<Schedule>>& all) {
  for (size_t i = 0; i < all.size(); ++i) {
    ScheduleState one;
    const std::string prefix = std::to_string(i) + ".";
    for (auto& [key, v] : state)
      if (key.starts_with(prefix)) one[key.substr(prefix.size())] = v;
    all[i]->load_state_dict(one);
  }
}
Optimizer& first_optimizer(const std::vector<std::shared_ptr<Schedule>>& all, const char* who) {
  DY_CHECK_AS(ValueError, !all.empty(), "{}: the list of schedulers is empty", who);
  for (auto& s : all)
    DY_CHECK_AS(ValueError, &s->optimizer() == &all[0]->optimizer(), "{}: the schedulers belong to different optimizers", who);
  return all[0]->optimizer();
}

}  // namespace

const std::vector<OptionDef>& option_defs(const SchedulerDef& def) {
  static std::mutex mutex;
  static std::map<const SchedulerDef*, std::vector<OptionDef>> all;
  std::lock_guard lock(mutex);
  std::vector<OptionDef>& out = all[&def];
  if (out.empty()) out = read_signature(def.sig);
  return out;
}

Schedule::~Schedule() { structure_changed(); }
std::vector<double> Schedule::get_last_lr() const {
  note_refusal(kAsked);
  return last_lr_;
}
int64_t Schedule::last_epoch() const {
  note_refusal(kAsked);
  return epoch_;
}
void Schedule::note_rates() {
  last_lr_.clear();
  for (const ParamGroup& g : optimizer_->groups()) last_lr_.push_back(g.options.number("lr"));
  optimizer_->push();
}

double Moment::number(std::string_view key) const {
  return o.number(key, std::min(index, std::max<size_t>(o.find(key)->numbers.size(), 1) - 1));
}

LRScheduler::LRScheduler(std::string_view name, Optimizer& optimizer, Options options, std::vector<Factor> factors)
    : Schedule(optimizer), def_(&scheduler_def(name)), factors_(std::move(factors)) {
  std::string known;
  for (const OptionDef& d : option_defs(*def_)) {
    const Option* given = options.find(d.name);
    known += (known.empty() ? "" : ", ") + d.name;
    if (d.type == "function") {
      DY_CHECK_AS(TypeError, d.optional || !factors_.empty(), "{}: {} is missing", name, d.name);
      continue;
    }
    DY_CHECK_AS(TypeError, given || !d.required, "{}: {} is missing", name, d.name);
    if (given) check_option(std::string(name), d, *given);
    options_.set(d.name, given ? *given : d.fallback);
  }
  for (auto& [key, value] : options)
    DY_CHECK_AS(ValueError, options_.find(key), "{}: an unknown option: {}; there are {}", name, key, known);
  if (name == "StepLR") DY_CHECK_AS(ValueError, options_.number("step_size") >= 1, "StepLR: step_size is below 1");
  epoch_ = int64_t(options_.number("last_epoch"));
  size_t index = 0;
  for (ParamGroup& g : optimizer.groups()) {
    const double lr = g.options.number("lr");
    if (epoch_ < 0 && std::isnan(g.initial_lr)) g.initial_lr = lr;
    DY_CHECK_AS(ValueError, !std::isnan(g.initial_lr),
                "{}: last_epoch is {}, but a group has no initial_lr; resume with load_state_dict()", name, epoch_);
    Moment m{options_, factors_, numbers_, g, index++, 0, g.initial_lr, lr, true};
    if (def_->begin) {
      def_->begin(m);
      optimizer.set_option(g, "lr", g.initial_lr);
    }
    base_.push_back(g.initial_lr);
  }
  ++epoch_;
  apply(true);
}

void LRScheduler::apply(bool initial) {
  if (def_->advance) def_->advance(options_, numbers_, epoch_);
  set(rates(initial));
}
std::vector<double> LRScheduler::rates(bool initial) {
  std::vector<double> out;
  for (ParamGroup& g : optimizer_->groups()) {
    const size_t i = out.size();
    if (i == base_.size()) base_.push_back(std::isnan(g.initial_lr) ? g.options.number("lr") : g.initial_lr);  // a later group
    Moment m{options_, factors_, numbers_, g, i, epoch_, base_[i], g.options.number("lr"), initial};
    out.push_back(def_->next(m));
  }
  return out;
}
void LRScheduler::set(const std::vector<double>& rates) {
  for (size_t i = 0; i < rates.size(); ++i) optimizer_->groups()[i].options.set("lr", rates[i]);
  note_rates();
}
void LRScheduler::set_rates() {
  optimizer_->pull();
  set(rates(epoch_ == 0));
}
std::vector<double> LRScheduler::get_lr() {
  optimizer_->pull();
  return rates(false);
}

void LRScheduler::step() {
  const StepPart part("a schedule's step", [this] { step(); }, this);
  if (epoch_ == 0 && optimizer_->steps() == 0)
    warn_once(
        "lr_scheduler: step() came before the optimizer's first step(), so the first learning rate is skipped; the order is "
        "optimizer.step(), scheduler.step()");
  optimizer_->pull();
  ++epoch_;
  apply();
}

void LRScheduler::step_to(double epoch) {
  note_refusal(kTold);
  optimizer_->pull();
  for (size_t i = 0; i < std::min(base_.size(), optimizer_->groups().size()); ++i)
    optimizer_->groups()[i].options.set("lr", base_[i]);
  for (epoch_ = 0;; ++epoch_) {
    apply(epoch_ == 0);
    if (double(epoch_ + 1) > epoch) break;
  }
  if (const double part = epoch - double(epoch_); part > 0) {
    DY_CHECK_AS(ValueError, numbers_.contains("T_cur"), "{}: step({}) is no whole epoch", def_->name(), epoch);
    numbers_["T_cur"] += part;
    set(rates(false));
  }
}

ScheduleState LRScheduler::state_dict() const {
  ScheduleState out{{"last_epoch", {double(epoch_)}}, {"base_lrs", base_}, {"last_lr", last_lr_}};
  for (auto& [key, v] : numbers_) out[key] = {v};
  for (auto& [key, v] : options_)
    if (key != "last_epoch" && !v.numbers.empty()) out["option." + key] = v.numbers;
  return out;
}
void LRScheduler::load_state_dict(const ScheduleState& state) {
  epoch_ = int64_t(get(state, "last_epoch", "LRScheduler"));
  for (auto& [key, v] : state) {
    if (key == "base_lrs")
      base_ = v;
    else if (key == "last_lr")
      last_lr_ = v;
    else if (key.starts_with("option."))
      options_.set(key.substr(7), v);
    else if (key != "last_epoch")
      numbers_[key] = v.at(0);
  }
}

SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<Schedule>> schedules,
                           std::vector<int64_t> milestones)
    : Schedule(optimizer), schedules_(std::move(schedules)), milestones_(std::move(milestones)) {
  DY_CHECK_AS(ValueError, &first_optimizer(schedules_, "SequentialLR") == &optimizer,
              "SequentialLR: the schedulers belong to another optimizer");
  DY_CHECK_AS(ValueError, milestones_.size() + 1 == schedules_.size(), "SequentialLR: {} schedulers take {} milestones, not {}",
              schedules_.size(), schedules_.size() - 1, milestones_.size());
  for (ParamGroup& g : optimizer.groups())
    if (!std::isnan(g.initial_lr)) optimizer.set_option(g, "lr", g.initial_lr);
  optimizer.push();
  epoch_ = 0;
  schedules_[0]->step_to(0);
  note_rates();
}
void SequentialLR::step() {
  const StepPart part("a schedule's step", [this] { step(); }, this);
  ++epoch_;
  const auto next = std::upper_bound(milestones_.begin(), milestones_.end(), epoch_);
  Schedule& s = *schedules_[size_t(next - milestones_.begin())];
  if (next != milestones_.begin() && next[-1] == epoch_)
    s.step_to(0);
  else
    s.step();
  note_rates();
}
void SequentialLR::step_to(double epoch) {
  note_refusal(kTold);
  schedules_[0]->step_to(0);
  epoch_ = 0;
  note_rates();
  while (double(epoch_) < epoch) step();
}
ScheduleState SequentialLR::state_dict() const {
  ScheduleState out = join(schedules_, epoch_);
  out["last_lr"] = last_lr_;
  return out;
}
void SequentialLR::load_state_dict(const ScheduleState& state) {
  epoch_ = int64_t(get(state, "last_epoch", "SequentialLR"));
  split(state, schedules_);
  if (auto it = state.find("last_lr"); it != state.end()) last_lr_ = it->second;
}

ChainedScheduler::ChainedScheduler(std::vector<std::shared_ptr<Schedule>> schedules)
    : Schedule(first_optimizer(schedules, "ChainedScheduler")), schedules_(std::move(schedules)) {
  epoch_ = 0;
  note_rates();
}
void ChainedScheduler::step() {
  const StepPart part("a schedule's step", [this] { step(); }, this);
  ++epoch_;
  for (auto& s : schedules_) s->step();
  note_rates();
}
void ChainedScheduler::step_to(double epoch) {
  note_refusal(kTold);
  fail<ValueError>("ChainedScheduler: it cannot begin in the middle (at {}); put it first", epoch);
}
ScheduleState ChainedScheduler::state_dict() const {
  ScheduleState out = join(schedules_, epoch_);
  out["last_lr"] = last_lr_;
  return out;
}
void ChainedScheduler::load_state_dict(const ScheduleState& state) {
  epoch_ = int64_t(get(state, "last_epoch", "ChainedScheduler"));
  split(state, schedules_);
  if (auto it = state.find("last_lr"); it != state.end()) last_lr_ = it->second;
}

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, PlateauOptions options)
    : Schedule(optimizer), o_(std::move(options)), best_(o_.maximize ? -INFINITY : INFINITY) {
  DY_CHECK_AS(ValueError, o_.factor < 1, "ReduceLROnPlateau: factor is {}; it is below 1", o_.factor);
  epoch_ = 0;
  note_rates();
}
void ReduceLROnPlateau::step(double metric) {
  note_refusal(kTold);
  optimizer_->pull();
  ++epoch_;
  // As factors of best where the threshold is relative; the first metric is better than none.
  const double sign = o_.maximize ? 1 : -1;
  const double bar = o_.relative ? best_ * (1 + sign * o_.threshold) : best_ + sign * o_.threshold;
  const bool better = o_.maximize ? metric > bar : metric < bar;
  if (better) {
    best_ = metric;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (cooling_ > 0) {
    --cooling_;
    bad_ = 0;
  }
  if (bad_ > o_.patience) {
    size_t i = 0;
    for (ParamGroup& g : optimizer_->groups()) {
      const double lr = g.options.number("lr"), floor = o_.min_lr[std::min(i++, o_.min_lr.size() - 1)];
      if (const double lower = std::max(lr * o_.factor, floor); lr - lower > o_.eps) optimizer_->set_option(g, "lr", lower);
    }
    cooling_ = o_.cooldown;
    bad_ = 0;
  }
  note_rates();
}
void ReduceLROnPlateau::step() { fail<TypeError>("ReduceLROnPlateau: step() takes the metric that is watched"); }
void ReduceLROnPlateau::step_to(double) { step(); }
ScheduleState ReduceLROnPlateau::state_dict() const {
  return {{"last_epoch", {double(epoch_)}},
          {"best", {best_}},
          {"num_bad_epochs", {double(bad_)}},
          {"cooldown_counter", {double(cooling_)}},
          {"last_lr", last_lr_}};
}
void ReduceLROnPlateau::load_state_dict(const ScheduleState& state) {
  const char* who = "ReduceLROnPlateau";
  epoch_ = int64_t(get(state, "last_epoch", who));
  best_ = get(state, "best", who);
  bad_ = int64_t(get(state, "num_bad_epochs", who));
  cooling_ = int64_t(get(state, "cooldown_counter", who));
  if (auto it = state.find("last_lr"); it != state.end()) last_lr_ = it->second;
}

}  // namespace dyadic::inline v1::optim
