// One recipe of a study with one seed: training with everything measured, evaluation, checkpoints.
#pragma once
#include <functional>

#include "dyadic/progress.h"
#include "study/evaluate.h"
#include "study/trainer.h"

namespace dyadic::inline v1::study {

class RecipeRun {
 public:
  Subject& subject;
  const Recipe& recipe;
  Plan plan;
  std::string checkpoint;   // file; gone when the recipe is done
  std::string fingerprint;  // of the study: a checkpoint of another one is refused
  train::Progress& progress;
  bool measure = true;                                  // timing, bytes, rounding: the first seed only
  bool shadow = false;                                  // rounding by module too
  std::function<void(const RecipeResult&)> saved = {};  // a checkpoint: what belongs to it is in the result

  RecipeRun(Subject& subject, const Recipe& recipe, const Plan& plan, std::string checkpoint, std::string fingerprint,
            train::Progress& progress, bool measure, bool shadow)
      : subject(subject),
        recipe(recipe),
        plan(plan),
        checkpoint(std::move(checkpoint)),
        fingerprint(std::move(fingerprint)),
        progress(progress),
        measure(measure),
        shadow(shadow) {}

  // Trains to the end (from the checkpoint if there is one), fills `r`; false: interrupted, the checkpoint holds the state.
  // The trained model stays in `trainer`, its losses in the evaluation in `losses`.
  bool run(RecipeResult& r);
  std::unique_ptr<Trainer> trainer;
  Evaluation losses;
  void failed(RecipeResult& r, const std::string& error);  // what is left of a run that ended in an error

 private:
  bool sampled(int64_t step) const;
  void sampled_step(RecipeResult& r, double* loss);
  void begin_measuring();
  void pause_measuring();
  void put_measures(RecipeResult& r, std::vector<double> times);
  void take_measures(const RecipeResult& r);
  void evaluate_on_the_way(RecipeResult& r);
  void keep(const RecipeResult& r);
  MemoryStats before_, peaks_;
  double own_s_ = 0;  // sampled steps, and what is kept beside
  double kept_at_ = 0;
  double flops_per_step_ = kUnknown;
};

}  // namespace dyadic::inline v1::study
