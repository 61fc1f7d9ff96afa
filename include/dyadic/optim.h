// Optimizers, the gradient scaler of f16 training, norms of gradients. Schedules are in lr_scheduler.h.
//
//   dy::optim::SGD sgd(model.named_parameters(), {.lr = 0.1, .momentum = 0.9, .nesterov = true});
//   dy::optim::AdamW adamw(model.named_parameters(), {.lr = 1e-3, .state = dy::dynamic8});
//   dy::optim::Optimizer named("SGD", model.named_parameters(), {{"lr", 0.1}});
//
// An optimizer is a record: signature (PyTorch's names and defaults), documentation, one parameter's step. What there is:
// optimizer_defs(); the classes are made from them (tools/generate). Every one also takes
//   state                what states are kept in: f32, bf16, f16, an 8-bit float, or 8 or 4 bits in blocks: dynamic8 (256
//                        elements per scale, Dettmers et al. 2022), i4(group=64), whose states without sign are udynamic8.
//                        Tensors below 4096 elements and those named in `keep32` keep states of 8 bits in f32; those of f64
//                        parameters are f64 where `state` is f32.
//   stochastic_rounding  of parameters and states of fewer bits than f32; `seed` of it
//   compensation         of parameters of at most 16 bits: what rounding left of a step is added to the next. "kahan" keeps it
//                        in the parameter's dtype, "f32" in f32: parameter plus rest are then an f32 master
#pragma once
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dyadic/nn.h"

namespace dyadic::inline v1::optim {

struct UpdateMeter {    // of all steps since the last clear
  int64_t nonzero = 0;  // parameter elements whose step was not zero
  int64_t lost = 0;     // those among them whose stored value did not change: the step rounded to nothing
  double share() const { return nonzero ? double(lost) / double(nonzero) : 0; }
};

// An option's value: a number or several (betas; a bool is 0 or 1, None as a number NaN), or a word; with neither it is None.
struct Option {
  std::vector<double> numbers;
  std::string word;
  Option() = default;
  Option(double v) : numbers{v} {}
  Option(int v) : numbers{double(v)} {}
  Option(int64_t v) : numbers{double(v)} {}
  Option(bool v) : numbers{double(v)} {}
  Option(std::initializer_list<double> v) : numbers(v) {}
  Option(std::vector<double> v) : numbers(std::move(v)) {}
  Option(const char* v) : word(v) {}
  Option(std::string v) : word(std::move(v)) {}
  Option(DType d) : word(d.name()) {}
  template <class T> Option(const std::optional<T>& v) : Option(v ? Option(*v) : Option()) {}
  bool is_none() const { return numbers.empty() && word.empty(); }
};

// Options by name. Reading one that is not there is an Error of ours: records say what there is.
class Options {
  std::vector<std::pair<std::string, Option>> all_;

 public:
  Options() = default;
  Options(std::initializer_list<std::pair<std::string, Option>> all) : all_(all) {}
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  const Option* find(std::string_view name) const;
  void set(std::string_view name, Option value);
  double number(std::string_view name, size_t i = 0) const;
  bool flag(std::string_view name) const { return number(name) != 0; }
  bool has(std::string_view name) const;  // and is not None
  const std::string& word(std::string_view name) const;
};

struct ParamGroup {
  nn::NamedTensors params;
  Options options;                                               // those not given are the optimizer's
  double initial_lr = std::numeric_limits<double>::quiet_NaN();  // what schedules begin from
  UpdateMeter updates{};                                         // since clear_updates()
};

class Update;
class OptimizerParamGroup;
struct OptimizerDef {
  const char* sig;  // "SGD(float lr=1e-3, float momentum=0, ...)"
  const char* doc;
  void (*step)(Update&);                                                    // of one parameter
  void (*check)(const char* who, const Options&, const Tensor&) = nullptr;  // of a parameter with its options
  const char* numbers = "";  // what a parameter's memory has beside tensors: "eta mu"
  bool counted = true;       // whether PyTorch's state has a "step"
  std::string name() const { return std::string(sig).substr(0, std::string_view(sig).find('(')); }
};
std::vector<const OptimizerDef*> optimizer_defs();
const OptimizerDef& optimizer_def(
    std::string_view name);  // or "Optimizer", one without a step; ValueError with the nearest name
// An option as records list it, the common ones included.
struct OptionDef {
  std::string type, name;  // float, int, bool, float[], str, dtype
  Option fallback;
  std::string fallback_text;
  bool optional = false, keyword_only = false, required = false;
};
const std::vector<OptionDef>& option_defs(const OptimizerDef& def);

// One parameter's memory: state tensors and numbers by name, and how many steps it has taken.
struct ParamState {
  std::map<std::string, Tensor, std::less<>> tensors;
  std::map<std::string, double, std::less<>> numbers;
  int64_t steps = 0;
  UpdateMeter updates{};  // of this parameter, since it was made
};

// Parameters without a gradient are left alone. Every step of an elementwise optimizer is one pass over memory, whatever the
// formats; the same bits for any number of threads.
class Optimizer {
 public:
  Optimizer(std::string_view name, nn::NamedTensors params, Options options = {}, std::vector<std::string> keep32 = {});
  Optimizer(std::string_view name, std::vector<ParamGroup> groups, Options options = {}, std::vector<std::string> keep32 = {});
  Optimizer(const Optimizer&) = delete;
  virtual ~Optimizer();

  // `grad_scale` multiplies gradients on the way (clipping, unscaling).
  void step(double grad_scale = 1);
  // With a closure that computes loss and gradients anew and returns the loss, which LBFGS calls several times.
  template <class F>
    requires requires(F f) { double(f()); }
  double step(F&& closure) {
    return step_closure([](void* f) { return double((*static_cast<std::remove_reference_t<F>*>(f))()); }, &closure);
  }
  template <class F>  // or that returns the loss as a tensor: the first one comes back
    requires std::same_as<std::invoke_result_t<F&>, Tensor>
  Tensor step(F&& closure) {
    Tensor first;
    step([&] {
      Tensor loss = closure();
      if (!first.defined()) first = loss;
      return loss.template item<double>();
    });
    return first;
  }
  double step_closure(double (*closure)(void*), void* context);
  void count_step();  // that was taken elsewhere: of an "Optimizer"
  void zero_grad(bool set_to_none = true);
  void add_param_group(ParamGroup group);
  void set_option(ParamGroup& group, std::string_view name,
                  Option value);  // ValueError for one that is unknown or out of range
  void set_lr(double lr);         // of all groups
  // Parameters of schedule-free training are where gradients are taken; train(false) makes them the average, for evaluation.
  void train(bool on = true);

  const OptimizerDef& def() const { return *def_; }
  int64_t steps() const { return step_; }
  void set_steps(int64_t steps) { step_ = steps; }
  // By the parameter (LBFGS: nullptr). What is put in is checked when a step reads it; kept_as says in which dtype.
  using States = std::unordered_map<const TensorImpl*, ParamState>;
  States& states() { return states_; }
  Tensor kept_as(const ParamGroup& group, const std::string& name, const Tensor& p, const Tensor& state) const;
  void keep32(std::vector<std::string> names) { keep32_ = std::move(names); }
  std::vector<ParamGroup>& groups() { return groups_; }
  std::vector<OptimizerParamGroup> param_groups();  // views of them, as libtorch has them: torch/optim.h
  const std::vector<ParamGroup>& groups() const { return groups_; }
  UpdateMeter updates() const;  // of all groups
  void clear_updates();

  // By parameter name: "exp_avg.<name>", ...; `step` beside them. A parameter that took fewer steps than the optimizer has its
  // own "step.<name>".
  nn::NamedTensors state_dict();
  void load_state_dict(const nn::NamedTensors& state, int64_t step);

  // Where groups and states are another language's: pull() takes them from there, before they are read; push() brings there
  // what was changed here.
  virtual void pull(bool states = false) { (void)states; }
  virtual void push(bool states = false) { (void)states; }

 protected:
  void put_option(ParamGroup& group, std::string_view name, Option value);  // set_option(), not by the program
  // A parameter may be in several places under one name; states of parameters that are in none are dropped.
  void replace_groups(std::vector<ParamGroup> groups);

 private:
  friend class Update;
  bool keeps32(const std::string& name) const;
  void check(const ParamGroup& group) const;
  void check_new(const ParamGroup& group) const;
  void check_gradients();
  void check_updates();
  void count_updates();
  void read_ahead(const Tensor& p) const;  // of a parameter that lies on disk
  void update(ParamGroup& group, const std::string& name, const Tensor& p, uint64_t stream, double grad_scale);
  const OptimizerDef* def_;
  Options defaults_;
  std::vector<ParamGroup> groups_;
  std::vector<std::string> keep32_;
  States states_;
  struct Uncounted {  // what a device has counted, read once a step
    Tensor counts;
    UpdateMeter *group, *own;
  };
  std::vector<Uncounted> uncounted_;
  int64_t step_ = 0;
  bool consumed_ = true, dropped_ = false;  // whether a step has seen the gradients; whether zero_grad took some that none saw
};

// A number that a training step finds out, read when a program asks for it. A compiled step whose program asks does not run
// again without it: the program may go another way each time.
template <class T> class Lazy {
  T value_{};
  Tensor unread_;

 public:
  Lazy(T value) : value_(value) {}
  explicit Lazy(Tensor unread) : unread_(std::move(unread)) {}
  operator T() const;
};

struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2, backoff_factor = 0.5;
  int64_t growth_interval = 2000;  // steps without an infinity until the scale grows
  int64_t max_skips = 100;         // as many skipped steps in a row are an error
  bool enabled = true;
};

// Dynamic loss scaling: gradients of f16 are kept in range by multiplying the loss, and a step whose gradients are not finite
// is skipped and lowers the scale. Of several optimizers each is skipped by its own gradients; one that is skipped lowers the
// scale for all. (PyTorch's amp.GradScaler.)
class GradScaler {
 public:
  double growth_factor, backoff_factor;
  int64_t growth_interval, max_skips;
  explicit GradScaler(GradScalerOptions options);
  explicit GradScaler(double init_scale = 65536, bool enabled = true)
      : GradScaler(GradScalerOptions{.init_scale = init_scale, .enabled = enabled}) {}

  GradScaler(const GradScaler&) = default;
  GradScaler& operator=(const GradScaler&) = default;
  ~GradScaler();

  Tensor scale(const Tensor& loss) const;
  std::vector<Tensor> scale(std::span<const Tensor> losses) const;
  // Divides the gradients by the scale and finds out whether they are finite; once per optimizer and step, an Error else.
  void unscale_(Optimizer& optimizer);
  // optimizer.step(grad_scale) unless a gradient is infinite or NaN. Unscales first if that has not been done. False: skipped.
  Lazy<bool> step(Optimizer& optimizer, double grad_scale = 1);
  // Grows or backs off by what the steps since the last update have met; or takes a new scale.
  void update();
  void update(double new_scale);

  bool is_enabled() const { return enabled_; }
  double get_scale() const;
  int64_t skipped() const;
  int64_t skipped_in_a_row() const;
  int64_t growth_tracker() const;
  void load_state(double scale, int64_t growth_tracker, int64_t skipped, int64_t skipped_in_a_row);

  // The same for whatever has parameters and a step of its own, known by its address.
  void unscale_(const void* optimizer, const nn::NamedTensors& params);
  bool may_step(const void* optimizer, const nn::NamedTensors& params);  // and counts as the step
  void skip(Optimizer& optimizer);  // its step, as if a gradient were not finite: another process has seen that

 private:
  struct Seen {  // of an optimizer, since the last update
    bool unscaled = false, stepped = false, found_inf = false;
  };
  double scale_;
  bool enabled_;
  int64_t growth_ = 0, skipped_ = 0, skipped_in_a_row_ = 0;
  std::map<const void*, Seen> seen_;
  std::string first_bad_;
};

// The p-norm of all elements together; norm_type may be infinity, or 0: how many tensors are not zero, as PyTorch counts.
double total_norm(std::span<const Tensor> tensors, double norm_type = 2);
// Scales the gradients so that their common norm is at most max_norm, and returns the norm they had; bounds their elements.
Lazy<double> clip_grad_norm_(const nn::NamedTensors& params, double max_norm, double norm_type = 2);
void clip_grad_value_(const nn::NamedTensors& params, double clip_value);
// Without a pass over memory of its own: the 2-norm of all gradients, and the factor that brings it down to max_norm (1 if it
// is smaller): for step(grad_scale).
double grad_norm(const nn::NamedTensors& params);
inline double clip_factor(double norm, double max_norm) { return norm > max_norm ? max_norm / (norm + 1e-6) : 1; }

// lr(step) of a linear warm-up to `peak` followed by a cosine down to `floor` at `total`. (nanoGPT's schedule.)
struct WarmupCosine {
  double peak = 1e-3, floor = 1e-4;
  int64_t warmup = 100, total = 1000;
  double operator()(int64_t step) const;
};

}  // namespace dyadic::inline v1::optim

#include "dyadic/optimizer_classes.inc"
