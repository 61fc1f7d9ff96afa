// Schedules of learning rates, PyTorch's: each step computes every group's rate from its last one, so that schedules chain.
//
//   dy::optim::OneCycleLR schedule(optimizer, {.max_lr = {0.1}, .total_steps = 1000});
//   ... optimizer.step(); schedule.step();
//
// A schedule is a record, as an optimizer is; what there is: scheduler_defs(), each a class. SequentialLR, ChainedScheduler and
// ReduceLROnPlateau are classes of their own.
#pragma once
#include "dyadic/optim.h"

namespace dyadic::inline v1::optim {

// A function of the epoch, owned: LambdaLR's factor, CyclicLR's scale.
class Factor {
  std::shared_ptr<void> object_;
  double (*call_)(void*, int64_t);

 public:
  template <class F>
    requires requires(F f) { double(f(int64_t())); }
  Factor(F f)
      : object_(std::make_shared<F>(std::move(f))),
        call_([](void* o, int64_t epoch) { return double((*static_cast<F*>(o))(epoch)); }) {}
  double operator()(int64_t epoch) const { return call_(object_.get(), epoch); }
};

using ScheduleState = std::map<std::string, std::vector<double>>;

class Schedule {
 public:
  explicit Schedule(Optimizer& optimizer) : optimizer_(&optimizer) { optimizer.pull(); }
  Schedule(const Schedule&) = delete;
  virtual ~Schedule();
  virtual void step() = 0;
  virtual void step_to(double epoch) = 0;  // as if `epoch` steps had been taken since the beginning
  virtual ScheduleState state_dict() const = 0;
  virtual void load_state_dict(const ScheduleState& state) = 0;
  std::vector<double> get_last_lr() const;
  int64_t last_epoch() const;
  void set_last_epoch(int64_t epoch) { epoch_ = epoch; }
  void set_last_lr(std::vector<double> rates) { last_lr_ = std::move(rates); }
  Optimizer& optimizer() const { return *optimizer_; }

 protected:
  friend class SequentialLR;
  friend class ChainedScheduler;
  void note_rates();  // what the groups have now is the last; pushes it
  Optimizer* optimizer_;
  int64_t epoch_ = -1;
  std::vector<double> last_lr_;
};

// What a record sees of one group at one step; epoch 0 is the beginning, where lr is still the group's own.
struct Moment {
  const Options& o;
  const std::vector<Factor>& factors;
  std::map<std::string, double>& numbers;
  ParamGroup& group;
  size_t index;
  int64_t epoch;
  double base, lr;
  bool initial;  // a schedule begins, or goes on where another one was: the rate that was left is this epoch's
  double number(std::string_view key) const;  // of a list, this group's
};
struct SchedulerDef {
  const char* sig;
  const char* doc;
  double (*next)(Moment&);
  void (*begin)(Moment&) = nullptr;  // of each group, before its base is taken
  void (*advance)(const Options&, std::map<std::string, double>&, int64_t epoch) = nullptr;  // before each step
  std::string name() const { return std::string(sig).substr(0, std::string_view(sig).find('(')); }
};
std::span<const SchedulerDef> scheduler_defs();
const std::vector<OptionDef>& option_defs(const SchedulerDef& def);

class LRScheduler : public Schedule {
 public:
  LRScheduler(std::string_view name, Optimizer& optimizer, Options options = {}, std::vector<Factor> factors = {});
  void step() override;
  void step_to(double epoch) override;
  ScheduleState state_dict() const override;
  void load_state_dict(const ScheduleState& state) override;
  const SchedulerDef& def() const { return *def_; }
  const std::vector<double>& base_lrs() const { return base_; }
  void set_base_lrs(std::vector<double> rates) { base_ = std::move(rates); }
  void set_rates();              // of this epoch, anew
  std::vector<double> get_lr();  // what set_rates() would set

 private:
  friend class SequentialLR;
  void apply(bool initial = false);
  std::vector<double> rates(bool initial);
  void set(const std::vector<double>& rates);
  const SchedulerDef* def_;
  Options options_;
  std::vector<Factor> factors_;
  std::vector<double> base_;
  std::map<std::string, double> numbers_;
};

// One schedule after another: schedules[i + 1] begins at milestones[i].
class SequentialLR : public Schedule {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<Schedule>> schedules, std::vector<int64_t> milestones);
  void step() override;
  void step_to(double epoch) override;
  ScheduleState state_dict() const override;
  void load_state_dict(const ScheduleState& state) override;

 private:
  std::vector<std::shared_ptr<Schedule>> schedules_;
  std::vector<int64_t> milestones_;
};

// All at once: their factors multiply.
class ChainedScheduler : public Schedule {
 public:
  explicit ChainedScheduler(std::vector<std::shared_ptr<Schedule>> schedules);
  void step() override;
  void step_to(double epoch) override;
  ScheduleState state_dict() const override;
  void load_state_dict(const ScheduleState& state) override;

 private:
  std::vector<std::shared_ptr<Schedule>> schedules_;
};

struct PlateauOptions {
  bool maximize = false;
  double factor = 0.1;
  int64_t patience = 10;
  double threshold = 1e-4;
  bool relative = true;
  int64_t cooldown = 0;
  std::vector<double> min_lr = {0};
  double eps = 1e-8;
};
// Lowers the rates by `factor` when a metric has not improved for more than `patience` steps.
class ReduceLROnPlateau : public Schedule {
 public:
  ReduceLROnPlateau(Optimizer& optimizer, PlateauOptions options = {});
  void step(double metric);
  void step() override;  // Error: it takes a metric
  void step_to(double epoch) override;
  ScheduleState state_dict() const override;
  void load_state_dict(const ScheduleState& state) override;
  int64_t num_bad_epochs() const { return bad_; }

 private:
  PlateauOptions o_;
  double best_;
  int64_t bad_ = 0, cooling_ = 0;
};

}  // namespace dyadic::inline v1::optim

#include "dyadic/scheduler_classes.inc"
