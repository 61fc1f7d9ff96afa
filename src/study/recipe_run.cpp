#include "study/recipe_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/clock.h"
#include "device/limit.h"
#include "dyadic/counters.h"
#include "dyadic/interrupt.h"
#include "study/rounding.h"
#include "study/step_times.h"

namespace dyadic::inline v1::study {
namespace {

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
}

}  // namespace

// Evenly spaced, the first and the last among them; if it is one, in the middle. Each takes as long as two to five others: of a
// short run fewer, so that they stay below a twentieth of it. Times and bytes are of the others: the only step, the last of two
// and half of a few are left for them.
bool RecipeRun::sampled(int64_t step) const {
  const int64_t last = plan.steps - 1,
                gaps = shadow ? std::min<int64_t>(15, last / 2) : std::clamp<int64_t>(plan.steps / 200, 0, 2);
  if (!measure || last == 0) return false;
  if (gaps <= 0) return step == (plan.steps == 2 ? 0 : plan.steps / 2);
  const int64_t k = (step * gaps + last / 2) / last;
  return step == (k * last + gaps / 2) / gaps;
}

// Shadows cost time and memory: the step is left out of both.
void RecipeRun::sampled_step(RecipeResult& r, double* loss) {
  pause_measuring();
  Counting::clear();
  RoundingCounting::clear();
  const UpdatesBefore before(trainer->optimizer());
  {
    Counting counting;
    std::optional<RoundingCounting> rounding;
    if (!memory_limit()) rounding.emplace();  // no plan has memory for shadows
    *loss = trainer->step();
  }
  flops_per_step_ = Counting::flops();
  add_counts(r);
  add_rounding(r, shadow);
  if (shadow) before.add(r);
  r.sampled_steps.push_back(trainer->steps_done() - 1);
  begin_measuring();
}

void RecipeRun::begin_measuring() { reset_peak_memory_stats(plan.device); }
void RecipeRun::pause_measuring() {
  MemoryStats s = memory_stats(plan.device);
  for (size_t c = 0; c < size_t(kCategories); ++c) peaks_.peak[c] = std::max(peaks_.peak[c], s.peak[c]);
  peaks_.total_peak = std::max(peaks_.total_peak, s.total_peak);
}

// What was measured so far, as the report keeps it beside the checkpoint.
void RecipeRun::put_measures(RecipeResult& r, std::vector<double> times) {
  if (!measure) return;
  pause_measuring();
  fill_bytes(r.bytes, peaks_, before_, &Amount::measured);
  r.steps = trainer->steps_done();
  if (times.size() > 4) times.erase(times.begin(), times.begin() + 2);
  const double step_s = times.empty() ? r.step_ms / 1e3 : median(std::move(times));
  set_step_time(r, step_s, subject.items(), flops_per_step_);
  const double samples = double(r.sampled_steps.size());
  r.sampling = std::max((own_s_ / step_s - samples) / double(r.steps), 0.0);
}

// Peaks are of the whole run, whatever part of it this process does.
void RecipeRun::take_measures(const RecipeResult& r) {
  for (auto [category, amount] : kAmounts)
    if (const Count& measured = (r.bytes.*amount).measured)
      peaks_.peak[size_t(category)] = before_.live[size_t(category)] + *measured;
  if (r.bytes.peak.measured) peaks_.total_peak = before_.total + *r.bytes.peak.measured;
  if (const double flops = flops_of_step(r); std::isfinite(flops)) flops_per_step_ = flops;
  if (std::isfinite(r.sampling)) own_s_ = (r.sampling * double(r.steps) + double(r.sampled_steps.size())) * r.step_ms / 1e3;
}

void RecipeRun::keep(const RecipeResult& r) {
  trainer->save(checkpoint, fingerprint);
  if (saved) saved(r);
  kept_at_ = seconds_now();
}

namespace {
// Of a run that was stopped they would be those of a few steps, or of none.
void forget_costs(RecipeResult& r) {
  for (auto [category, amount] : kAmounts) (r.bytes.*amount).measured.reset();
  r.bytes.peak.measured.reset();
  r.step_ms = r.tokens_per_s = r.flops_per_s = r.mfu = r.sampling = kUnknown;
}
// Without a checkpoint a run begins anew, and so does what was measured of it.
void forget_measures(RecipeResult& r) {
  forget_costs(r);
  RecipeResult fresh;
  fresh.name = std::move(r.name), fresh.doc = std::move(r.doc), fresh.fields = std::move(r.fields),
  fresh.flops_peak = r.flops_peak, fresh.bytes = r.bytes;
  r = std::move(fresh);
}
}  // namespace

void RecipeRun::failed(RecipeResult& r, const std::string& error) {
  forget_costs(r);
  r.steps = trainer ? trainer->steps_done() : 0;
  r.status = Status::failed;
  r.error = r.steps < plan.steps ? fmt::format("at step {}: {}", r.steps, error) : "evaluating: " + error;
  std::error_code ignored;
  std::filesystem::remove(checkpoint, ignored);
}

// Of the step done last, whose point the curve ends with.
void RecipeRun::evaluate_on_the_way(RecipeResult& r) {
  pause_measuring();  // its batches may be larger
  trainer->optimizer().zero_grad();
  const Evaluation e = evaluate(subject, trainer->model(), 1, recipe.compute);
  begin_measuring();
  if (!interrupted()) r.curve.back().val_loss = e.mean();
}

bool RecipeRun::run(RecipeResult& r) {
  kept_at_ = seconds_now();
  before_ = memory_stats(plan.device);
  peaks_ = {};
  trainer = std::make_unique<Trainer>(subject, recipe, plan);
  std::vector<double> times;
  if (std::filesystem::exists(checkpoint)) {
    trainer->load(checkpoint, fingerprint);
    if (measure) take_measures(r);
  } else if (measure) {
    forget_measures(r);
  }
  r.status = Status::running;
  r.error.clear();
  progress.begin(recipe.name, plan.steps, trainer->steps_done());
  int64_t items = subject.items(), every = std::max<int64_t>(plan.steps / 500, 1);
  begin_measuring();
  const bool due = measure && evaluation_due(trainer->steps_done(), plan.steps, subject);
  if (due && !r.curve.empty() && std::isnan(r.curve.back().val_loss)) evaluate_on_the_way(r);  // it was interrupted
  while (trainer->steps_done() < plan.steps) {
    if (interrupted()) {
      put_measures(r, times);
      keep(r);
      return false;
    }
    int64_t step = trainer->steps_done();
    double loss, t = seconds_now();
    bool count = sampled(step);
    if (count)
      sampled_step(r, &loss);
    else
      loss = trainer->step();
    double took = seconds_now() - t;
    if (trainer->nan()) break;
    count ? void(own_s_ += took) : times.push_back(took);
    if (measure && (step % every == 0 || step == plan.steps - 1)) r.curve.push_back({step + 1, loss, kUnknown});
    progress.step(step + 1, loss, double(items) / took);
    if (!measure || !evaluation_due(step + 1, plan.steps, subject)) continue;
    if (r.curve.empty() || r.curve.back().step != step + 1) r.curve.push_back({step + 1, loss, kUnknown});
    evaluate_on_the_way(r);
    constexpr double kKeepEvery_s = 10;
    const double begin = seconds_now();
    put_measures(r, times);
    if (begin - kept_at_ > kKeepEvery_s) keep(r);
    begin_measuring();
    own_s_ += seconds_now() - begin;
  }
  r.steps = trainer->steps_done();
  if (measure) {
    if (!trainer->nan()) put_measures(r, times);
    r.skipped_steps = trainer->scaler().skipped();
    r.lost_updates = trainer->optimizer().updates().share();
  }
  if (trainer->nan()) {
    if (measure) forget_costs(r);
    r.nan = trainer->nan();
    r.status = Status::stopped;
    return true;
  }
  trainer->optimizer().zero_grad();
  losses = evaluate(subject, trainer->model(), 1, recipe.compute);
  if (interrupted()) {
    keep(r);
    return false;
  }
  if (measure) {
    r.weights_sha256 = trainer->weights_sha256();
    if (!r.curve.empty()) r.curve.back().val_loss = losses.mean();
  }
  return true;
}

}  // namespace dyadic::inline v1::study
