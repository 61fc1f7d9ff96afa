#include "study/recipe_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "account/machine.h"
#include "base/interrupt.h"
#include "dyadic/counters.h"

namespace dyadic::inline v1::study {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> v) {
  if (v.empty()) return kUnknown;
  auto mid = v.begin() + int64_t(v.size() / 2);
  std::nth_element(v.begin(), mid, v.end());
  return *mid;
}

// Steps after which it is evaluated: up to three, evenly spaced, so that evaluation stays a small part of the run.
bool evaluation_due(int64_t done, int64_t steps, const Subject& subject) {
  int64_t points = std::clamp<int64_t>(steps * 3 / (2 * subject.evaluation_steps()), 1, 3);
  return done > 0 && done < steps && done * points / steps != (done - 1) * points / steps;
}

void add_counts(RecipeResult& r) {
  for (const OpCount& c : Counting::counts())
    if (c.flops > 0) {
      std::string dtype = c.dtype.name();
      auto same = std::find_if(r.dtype_calls.begin(), r.dtype_calls.end(),
                               [&](const DtypeCalls& d) { return d.op == c.op && d.dtype == dtype; });
      if (same == r.dtype_calls.end())
        r.dtype_calls.push_back({c.op, dtype, c.calls});
      else
        same->calls += c.calls;
    }
  for (const RoundingCount& c : RoundingCounting::counts()) {
    r.overflows = r.overflows.value_or(0) + c.overflows;
    r.flushed = r.flushed.value_or(0) + c.flushed;
    if (!c.overflows && !c.flushed) continue;
    auto same = std::find_if(r.rounding.begin(), r.rounding.end(), [&](const RoundingEvents& e) {
      return e.op == c.op && e.module == c.module && e.dtype == c.dtype.name();
    });
    if (same == r.rounding.end()) same = r.rounding.insert(same, {c.op, c.module, c.dtype.name(), 0, 0});
    same->overflows += c.overflows;
    same->flushed += c.flushed;
  }
}

}  // namespace

bool RecipeRun::sampled(int64_t step) const {
  return measure && (step == 0 || step == plan.steps / 2 || step == plan.steps - 1);
}

// Shadows cost time and memory: the step is left out of both.
void RecipeRun::sampled_step(RecipeResult& r, double* loss) {
  pause_measuring();
  Counting::clear();
  RoundingCounting::clear();
  {
    Counting counting;
    RoundingCounting rounding;
    *loss = trainer->step();
  }
  flops_per_step_ = Counting::flops();
  add_counts(r);
  r.sampled_steps.push_back(trainer->steps_done() - 1);
  begin_measuring();
}

void RecipeRun::begin_measuring() {
  reset_peak_memory_stats();
  if (resident_before_ >= 0) {
    empty_cache();
    account::reset_resident_high_water();
  }
}
void RecipeRun::pause_measuring() {
  MemoryStats s = memory_stats();
  for (size_t c = 0; c < size_t(kCategories); ++c) peaks_.peak[c] = std::max(peaks_.peak[c], s.peak[c]);
  peaks_.total_peak = std::max(peaks_.total_peak, s.total_peak);
  if (resident_before_ >= 0) resident_peak_ = std::max(resident_peak_, account::resident_high_water());
}
void RecipeRun::finish_measuring(RecipeResult& r) {
  pause_measuring();
  fill_bytes(r.bytes, peaks_, before_, &Amount::measured);
  if (resident_before_ >= 0) r.resident_peak = resident_peak_ - resident_before_;
}

bool RecipeRun::run(RecipeResult& r) {
  empty_cache();
  before_ = memory_stats();
  peaks_ = {};
  if (measure && account::reset_resident_high_water()) resident_before_ = account::resident_bytes();
  trainer = std::make_unique<Trainer>(subject, recipe, plan);
  std::vector<double> times;
  if (std::filesystem::exists(checkpoint)) trainer->load(checkpoint, fingerprint);
  r.status = Status::running;
  progress.begin(recipe.name, plan.steps, trainer->steps_done());
  int64_t items = subject.items(), every = std::max<int64_t>(plan.steps / 500, 1);
  begin_measuring();
  while (trainer->steps_done() < plan.steps) {
    if (interrupted()) {
      trainer->save(checkpoint, fingerprint);
      finish_measuring(r);
      return false;
    }
    int64_t step = trainer->steps_done();
    double loss, t = now();
    bool count = sampled(step);
    if (count)
      sampled_step(r, &loss);
    else
      loss = trainer->step();
    double took = now() - t;
    if (trainer->nan()) break;
    if (!count) times.push_back(took);
    if (measure && (step % every == 0 || step == plan.steps - 1)) r.curve.push_back({step + 1, loss, kUnknown});
    progress.step(step + 1, loss, double(items) / took);
    if (measure && evaluation_due(step + 1, plan.steps, subject)) {
      pause_measuring();  // its batches may be larger
      Evaluation e = evaluate(subject, trainer->model(), 1, recipe.compute);
      begin_measuring();
      if (!interrupted()) {
        if (r.curve.empty() || r.curve.back().step != step + 1) r.curve.push_back({step + 1, loss, kUnknown});
        r.curve.back().val_loss = e.mean();
      }
      trainer->save(checkpoint, fingerprint);
    }
  }
  r.steps = trainer->steps_done();
  if (measure) {
    finish_measuring(r);
    if (times.size() > 4) times.erase(times.begin(), times.begin() + 2);
    r.step_ms = median(times) * 1e3;
    r.tokens_per_s = double(items) / r.step_ms * 1e3;
    r.flops_per_s = flops_per_step_ / r.step_ms * 1e3;
    r.mfu = r.flops_per_s / r.flops_peak;
    r.skipped_steps = trainer->scaler().skipped();
    r.lost_updates = trainer->optimizer().updates().share();
  }
  if (trainer->nan()) {
    r.nan = trainer->nan();
    r.status = Status::stopped;
    return true;
  }
  losses = evaluate(subject, trainer->model(), 1, recipe.compute);
  if (interrupted()) {
    trainer->save(checkpoint, fingerprint);
    return false;
  }
  if (measure) {
    r.weights_sha256 = trainer->weights_sha256();
    if (!r.curve.empty()) r.curve.back().val_loss = losses.mean();
  }
  return true;
}

}  // namespace dyadic::inline v1::study
