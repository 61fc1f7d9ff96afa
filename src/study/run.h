// The study itself: predict, train under every recipe, quantize, report; interruptible and resumable at any step.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "dyadic/progress.h"
#include "study/subject.h"

namespace dyadic::inline v1::study {

struct StudyRequest {
  std::vector<Recipe> recipes;       // empty: all; f32 always runs
  std::vector<std::string> formats;  // empty: all
  std::optional<int64_t> steps;      // none: as many as the subject is made for
  std::optional<double> time_s;      // turned once into a step count for all recipes
  int seeds = 1;
  double tolerance = 0.01;
  Minimize minimize = Minimize::memory;
  bool per_layer = false;      // where the loss of a format comes from
  bool shadow = false;         // more sampled steps, and their rounding by module
  std::string name = "model";  // of what is studied
  std::string out;             // the folder; empty: the first free of study-<name>, study-<name>-2 ...
  bool resume = false;
  Plan plan;            // steps are set by the study
  std::string command;  // of the command line, as it was called, for the report; empty: a library's caller
};

// Everything that can be refused is refused before training starts. Writes report.html, report.json, model.safetensors and
// checkpoints into the folder, each atomically, after every recipe and format.
Study run_study(Subject& subject, const StudyRequest& request, train::Progress& progress);

}  // namespace dyadic::inline v1::study
