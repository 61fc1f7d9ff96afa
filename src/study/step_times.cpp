#include "study/step_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "account/machine.h"
#include "base/clock.h"
#include "dyadic/interrupt.h"
#include "study/conclude.h"
#include "study/trainer.h"

namespace dyadic::inline v1::study {
namespace {

constexpr const char* kAfterwards = "After training a step could not be repeated under";

// Seconds of a step: the median of `steps` after a first one, which allocates.
double time_steps(Subject& subject, const Recipe& recipe, const Plan& plan, int64_t steps) {
  Trainer trainer(subject, recipe, plan);
  trainer.step();
  std::vector<double> times;
  for (int64_t k = 0; k < steps && !interrupted(); ++k) {
    const double begin = seconds_now();
    trainer.step();
    times.push_back(seconds_now() - begin);
  }
  return median(std::move(times));
}

}  // namespace

// What the process grows by in two steps. Memory comes in pages of 2 MiB, of which a small model does not fill the last; in
// those of 4 KiB its growth is what it uses. Nothing but the recipe's own: code and threads are there by now.
static Count resident_growth(Subject& subject, const Recipe& recipe, const Plan& plan) {
  const account::SmallPages small;
  empty_cache();
  const int64_t before = account::resident_bytes();
  Trainer trainer(subject, recipe, plan);
  empty_cache();  // making a model may take more than training it
  if (!account::reset_resident_high_water()) return {};
  for (int k = 0; k < 2 && !interrupted(); ++k) trainer.step();
  return account::resident_high_water() - before;
}

double median(std::vector<double> v) {
  if (v.empty()) return kUnknown;
  const auto mid = v.begin() + int64_t(v.size() / 2);
  std::nth_element(v.begin(), mid, v.end());
  return *mid;
}

void set_step_time(RecipeResult& r, double step_s, int64_t items, double flops_per_step) {
  r.step_ms = step_s * 1e3;
  r.tokens_per_s = double(items) / step_s;
  r.flops_per_s = flops_per_step / step_s;
  r.mfu = r.flops_per_s / r.flops_peak;
}

double flops_of_step(const RecipeResult& r) { return std::round(r.flops_per_s * r.step_ms / 1e3); }

bool time_in_turns(Subject& subject, const std::vector<Recipe>& recipes, FunctionRef<Plan(const std::string& recipe)> plan_of,
                   StudyResult& study, train::Progress& progress) {
  constexpr int64_t kTurns = 5, kLeastTurns = 3, kMostSteps = 50;
  constexpr double kTurn_s = 0.05;  // or longer: of short trainings up to a fifth
  const int64_t trained = study.options.steps, turns = trained < 40 ? 0 : std::clamp(trained / 40, kLeastTurns, kTurns);
  const GeneratorState random = generator_state();
  std::vector<bool> failed(recipes.size(), false);
  std::erase_if(study.notes, [](const std::string& note) { return note.starts_with(kAfterwards); });
  // What goes wrong here takes nothing from what training has shown.
  const auto attempt = [&](size_t i, FunctionRef<void()> work) {
    const std::string error = error_of("", work);
    if (error.empty()) return;
    failed[i] = true;
    study.notes.push_back(
        fmt::format("{} {}: {}; its time is the median of training's steps.", kAfterwards, study.recipes[i].name, error));
  };
  for (size_t i = 0; i < recipes.size() && !interrupted(); ++i)
    if (RecipeResult& r = study.recipes[i]; r.status == Status::done && !r.resident_peak)
      attempt(i, [&] { r.resident_peak = resident_growth(subject, recipes[i], plan_of(r.name)); });
  set_generator_state(random);
  const bool pending = std::any_of(study.recipes.begin(), study.recipes.end(),
                                   [](const RecipeResult& r) { return r.status == Status::done && r.turns == 0; });
  if (turns == 0 || !pending) return !interrupted();
  std::vector<std::vector<double>> times(recipes.size());
  progress.plan(0);
  progress.begin("step times", turns);
  for (int64_t turn = 0; turn < turns; ++turn) {
    for (size_t i = 0; i < recipes.size(); ++i) {
      const RecipeResult& r = study.recipes[i];
      if (r.status != Status::done || failed[i]) continue;
      const int64_t short_ones =
          std::min(int64_t(kTurn_s * 1e3 / r.step_ms) + 1, std::max<int64_t>(trained / (5 * turns) - 1, 1));
      const int64_t steps = std::clamp<int64_t>(std::max(trained / 100 - 1, short_ones), 1, kMostSteps);
      attempt(i, [&] { times[i].push_back(time_steps(subject, recipes[i], plan_of(r.name), steps)); });
    }
    if (interrupted()) break;
    progress.step(turn + 1);
  }
  set_generator_state(random);
  if (interrupted()) return false;
  for (size_t i = 0; i < recipes.size(); ++i) {
    RecipeResult& r = study.recipes[i];
    if (r.status != Status::done || failed[i]) continue;
    const auto [least, most] = std::minmax_element(times[i].begin(), times[i].end());
    const double spread = *most - *least, flops = flops_of_step(r);
    const int64_t items = subject.items();
    r.turns = int(turns);
    set_step_time(r, median(times[i]), items, flops);
    r.step_spread = spread * 1e3 / r.step_ms;
  }
  progress.end();
  return true;
}

}  // namespace dyadic::inline v1::study
