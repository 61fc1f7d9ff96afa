// The study itself: predict, train under every recipe, quantize, report; interruptible and resumable at any step.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "dyadic/progress.h"
#include "study/corpus.h"
#include "study/result.h"

namespace dyadic::inline v1::study {

struct StudyRequest {
  std::vector<std::string> data, recipes, formats;  // empty: the built-in corpus, all recipes, all formats
  std::string preset = "char";
  std::optional<TokenKind> tokens;  // none: the preset's
  std::optional<int64_t> steps;
  std::optional<double> time_s;  // turned once into a step count for all recipes
  int seeds = 1;
  double tolerance = 0.01;
  Minimize minimize = Minimize::memory;
  std::string out;  // the folder; empty: the first free of study-<preset>, study-<preset>-2 ...
  bool resume = false;
  uint64_t seed = 0;
  std::string command;  // as it was called, for the report
};

struct StudyOutcome {
  StudyResult result;
  std::string folder;
  bool interrupted = false;
};

// The folder of a run that was given none: the first free of base, base-2 ...; to resume, base.
std::string run_folder(const std::string& base, bool resume);

// Everything that can be refused is refused before training starts. Writes report.html, report.json, model.safetensors and
// checkpoints into the folder, each atomically, after every recipe and format.
StudyOutcome run_study(const StudyRequest& request, train::Progress& progress);

}  // namespace dyadic::inline v1::study
