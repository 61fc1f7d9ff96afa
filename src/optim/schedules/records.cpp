// The schedules that are records: a group's next learning rate from its last.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "dyadic/lr_scheduler.h"

namespace dyadic::inline v1::optim {
namespace {

double cosine(double from, double to, double share) { return to + (from - to) / 2 * (1 + std::cos(M_PI * share)); }
double line(double from, double to, double share) { return from + (to - from) * share; }

double function(Moment& m) { return m.factors[std::min(m.index, m.factors.size() - 1)](m.epoch); }
double lambda(Moment& m) { return m.base * m.factors[std::min(m.index, m.factors.size() - 1)](m.epoch); }
double multiplicative(Moment& m) {
  return m.initial ? m.lr : m.lr * m.factors[std::min(m.index, m.factors.size() - 1)](m.epoch);
}

double step(Moment& m) {
  const auto size = int64_t(m.number("step_size"));
  return m.epoch == 0 || m.epoch % size ? m.lr : m.lr * m.number("gamma");
}
double multi_step(Moment& m) {
  const auto& at = m.o.find("milestones")->numbers;
  return m.lr * std::pow(m.number("gamma"), double(std::count(at.begin(), at.end(), double(m.epoch))));
}

double constant(Moment& m) {
  if (m.epoch == 0) return m.lr * m.number("factor");
  return double(m.epoch) == m.number("total_iters") ? m.lr / m.number("factor") : m.lr;
}
double linear(Moment& m) {
  const double from = m.number("start_factor"), to = m.number("end_factor"), total = m.number("total_iters");
  if (m.epoch == 0) return m.lr * from;
  if (m.initial || double(m.epoch) > total) return m.lr;
  return m.lr * (1 + (to - from) / (total * from + double(m.epoch - 1) * (to - from)));
}
double exponential(Moment& m) { return m.initial ? m.lr : m.lr * m.number("gamma"); }
double polynomial(Moment& m) {
  const double total = m.number("total_iters"), e = double(m.epoch);
  return m.initial || e > total ? m.lr : m.lr * std::pow((1 - e / total) / (1 - (e - 1) / total), m.number("power"));
}

double cosine_annealing(Moment& m) {
  const double low = m.number("eta_min"), total = m.number("T_max"), e = double(m.epoch);
  if (m.initial) return m.lr;
  if (std::fmod(e - 1 - total, 2 * total) == 0) return m.lr + (m.base - low) * (1 - std::cos(M_PI / total)) / 2;
  return (1 + std::cos(M_PI * e / total)) / (1 + std::cos(M_PI * (e - 1) / total)) * (m.lr - low) + low;
}

double warm_restarts(Moment& m) { return cosine(m.base, m.number("eta_min"), m.numbers.at("T_cur") / m.numbers.at("T_i")); }
void advance_restarts(const Options& o, std::map<std::string, double>& numbers, int64_t epoch) {
  if (epoch == 0) numbers = {{"T_cur", 0}, {"T_i", o.number("T_0")}};
  if (epoch == 0 || ++numbers["T_cur"] < numbers["T_i"]) return;
  numbers["T_cur"] -= numbers["T_i"];
  numbers["T_i"] *= o.number("T_mult");
}

void set_momentum(ParamGroup& g, double value) {
  if (const Option* betas = g.options.find("betas"))
    g.options.set("betas", std::vector<double>{value, betas->numbers[1]});
  else
    g.options.set("momentum", value);
}
void check_momentum(const char* who, const Moment& m) {
  DY_CHECK_AS(ValueError, !m.o.flag("cycle_momentum") || m.group.options.find("betas") || m.group.options.find("momentum"),
              "{}: cycle_momentum is True, but the optimizer has neither momentum nor betas; pass cycle_momentum=False", who);
}

void begin_cyclic(Moment& m) {
  check_momentum("CyclicLR", m);
  const std::string& mode = m.o.word("mode");
  DY_CHECK_AS(ValueError, !m.factors.empty() || mode == "triangular" || mode == "triangular2" || mode == "exp_range",
              "CyclicLR: unknown mode \"{}\"; the known ones are triangular, triangular2 and exp_range", mode);
  m.group.initial_lr = m.number("base_lr");
}
double cyclic(Moment& m) {
  const double up = m.number("step_size_up"), down = m.o.has("step_size_down") ? m.number("step_size_down") : up;
  const double e = double(m.epoch), cycle = std::floor(1 + e / (up + down)), x = 1 + e / (up + down) - cycle;
  const double ratio = up / (up + down);
  double height = x <= ratio ? x / ratio : (x - 1) / (ratio - 1);
  const std::string& mode = m.o.word("mode");
  if (!m.factors.empty())
    height *= m.factors[0](m.o.word("scale_mode") == "iterations" ? m.epoch : int64_t(cycle));
  else if (mode == "triangular2")
    height /= std::pow(2, cycle - 1);
  else if (mode == "exp_range")
    height *= std::pow(m.number("gamma"), e);
  if (m.o.flag("cycle_momentum")) set_momentum(m.group, line(m.number("max_momentum"), m.number("base_momentum"), height));
  return line(m.base, m.number("max_lr"), height);
}

double cycle_steps(const Options& o) {
  return o.has("total_steps") ? o.number("total_steps") : o.number("epochs") * o.number("steps_per_epoch");
}
void begin_one_cycle(Moment& m) {
  check_momentum("OneCycleLR", m);
  DY_CHECK_AS(ValueError, cycle_steps(m.o) > 0,
              "OneCycleLR: the number of steps is missing: give total_steps, or epochs and steps_per_epoch");
  const double share = m.number("pct_start");
  DY_CHECK_AS(ValueError, share >= 0 && share <= 1, "OneCycleLR: pct_start is {}; it is between 0 and 1", share);
  m.group.initial_lr = m.number("max_lr") / m.number("div_factor");
}
double one_cycle(Moment& m) {
  const double total = cycle_steps(m.o), e = double(m.epoch), peak = m.number("max_lr"), start = m.base;
  DY_CHECK_AS(ValueError, e <= total, "OneCycleLR: step {} of {}; a longer cycle takes a larger total_steps", m.epoch, total);
  const double floor = start / m.number("final_div_factor"), low = m.number("base_momentum"), high = m.number("max_momentum");
  const double rise = m.number("pct_start") * total - 1;
  struct Phase {
    double end, from, to, momentum, to_momentum;
  };
  std::vector<Phase> phases = {{rise, start, peak, high, low}};
  if (m.o.flag("three_phase"))
    phases.insert(phases.end(), {{2 * rise, peak, start, low, high}, {total - 1, start, floor, high, high}});
  else
    phases.push_back({total - 1, peak, floor, low, high});
  auto anneal = m.o.word("anneal_strategy") == "linear" ? line : cosine;
  double begin = 0;
  size_t i = 0;
  while (i + 1 < phases.size() && e > phases[i].end) begin = phases[i++].end;
  const Phase& p = phases[i];
  const double share = (e - begin) / (p.end - begin);
  if (m.o.flag("cycle_momentum")) set_momentum(m.group, anneal(p.momentum, p.to_momentum, share));
  return anneal(p.from, p.to, share);
}

// From whatever the rate was to swa_lr, whoever else changes it meanwhile.
double swa(Moment& m) {
  const double epochs = m.number("anneal_epochs"), target = m.number("swa_lr");
  const double e = epochs == 0 ? std::max(1.0, double(m.epoch)) : double(m.epoch);
  auto share = [&](double at) {
    const double t = std::clamp(at / std::max(1.0, epochs), 0.0, 1.0);
    return m.o.word("anneal_strategy") == "linear" ? t : (1 - std::cos(M_PI * t)) / 2;
  };
  const double before = share(e - 1), now = share(e);
  const double start = before == 1 ? target : (m.lr - before * target) / (1 - before);
  return line(start, target, now);
}

constexpr SchedulerDef kDefs[] = {
    {"FunctionLR(function lr, int last_epoch=-1)", "The rate is lr(epoch); a list has one per group.", function},
    {"LambdaLR(function lr_lambda, int last_epoch=-1)", "The initial rate times lr_lambda(epoch); a list has one per group.",
     lambda},
    {"MultiplicativeLR(function lr_lambda, int last_epoch=-1)", "The rate times lr_lambda(epoch), at every step.",
     multiplicative},
    {"StepLR(int step_size, float gamma=0.1, int last_epoch=-1)", "The rate times gamma, every step_size steps.", step},
    {"MultiStepLR(float[] milestones, float gamma=0.1, int last_epoch=-1)", "The rate times gamma, at each milestone.",
     multi_step},
    {"ConstantLR(float factor=0.3333333333333333, int total_iters=5, int last_epoch=-1)",
     "The rate times factor, until total_iters.", constant},
    {"LinearLR(float start_factor=0.3333333333333333, float end_factor=1.0, int total_iters=5, int last_epoch=-1)",
     "A factor on a line from start_factor to end_factor at total_iters.", linear},
    {"ExponentialLR(float gamma, int last_epoch=-1)", "The rate times gamma, at every step.", exponential},
    {"PolynomialLR(int total_iters=5, float power=1.0, int last_epoch=-1)", "(1 - epoch / total_iters)^power.", polynomial},
    {"CosineAnnealingLR(float T_max, float eta_min=0.0, int last_epoch=-1)",
     "A cosine from the initial rate down to eta_min at T_max, and up again.", cosine_annealing},
    {"CosineAnnealingWarmRestarts(int T_0, int T_mult=1, float eta_min=0.0, int last_epoch=-1)",
     "A cosine down to eta_min that begins anew after T_0 steps, T_mult times longer each time. (Loshchilov and Hutter 2017.)",
     warm_restarts, nullptr, advance_restarts},
    {"CyclicLR(float[] base_lr, float[] max_lr, int step_size_up=2000, int? step_size_down=None, str mode=\"triangular\", "
     "float "
     "gamma=1.0, function? scale_fn=None, str scale_mode=\"cycle\", bool cycle_momentum=True, float base_momentum=0.8, float "
     "max_momentum=0.9, int last_epoch=-1)",
     "Between base_lr and max_lr and back; momentum the other way round. (Smith 2017.)", cyclic, begin_cyclic},
    {"OneCycleLR(float[] max_lr, int? total_steps=None, int? epochs=None, int? steps_per_epoch=None, float pct_start=0.3, str "
     "anneal_strategy=\"cos\", bool cycle_momentum=True, float base_momentum=0.85, float max_momentum=0.95, float "
     "div_factor=25.0, "
     "float final_div_factor=10000.0, bool three_phase=False, int last_epoch=-1)",
     "Up from max_lr / div_factor to max_lr, then down to that / final_div_factor. (Smith and Topin 2018.)", one_cycle,
     begin_one_cycle},
    {"SWALR(float[] swa_lr, int anneal_epochs=10, str anneal_strategy=\"cos\", int last_epoch=-1)",
     "To swa_lr within anneal_epochs, then constant: for weight averaging.", swa},
};

}  // namespace

std::span<const SchedulerDef> scheduler_defs() { return kDefs; }

}  // namespace dyadic::inline v1::optim
