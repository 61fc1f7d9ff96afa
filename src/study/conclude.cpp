#include "study/conclude.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/allocator.h"
#include "dyadic/interrupt.h"
#include "study/statistics.h"
#include "study/step_times.h"
#include "study/words.h"

namespace dyadic::inline v1::study {

void conclude(RecipeResult& r, const std::vector<Evaluation>& losses, std::vector<Evaluation>& f32, const Measure& measure,
              int64_t window) {
  std::vector<double> means, metrics;
  for (const Evaluation& e : losses) {
    means.push_back(e.mean());
    if (!e.values.empty()) metrics.push_back(metric_of(e.values, measure));
  }
  r.seed_val_losses = means;
  r.val_loss = mean_se(means).mean;
  r.metric = mean_se(metrics).mean;
  const std::vector<double> first(losses[0].losses.begin(), losses[0].losses.end());
  r.val_loss_se = losses.size() > 1 ? mean_se(means).se : mean_se_clustered(first, window).se;
  if (r.name == "f32") {
    f32 = losses;
    r.vs_f32 = no_difference();
    if (!metrics.empty()) r.metric_vs_f32 = no_difference();
  } else if (!f32.empty()) {
    std::vector<PairedLosses> pairs;
    for (size_t k = 0; k < losses.size(); ++k) pairs.push_back({f32[k].losses, losses[k].losses});
    r.vs_f32 = compare(pairs, window);
    if (!metrics.empty()) r.metric_vs_f32 = compare_metric(f32, losses, measure, window);
  }
  r.status = Status::done;
}

std::string error_of(const std::string& name, FunctionRef<void()> work) {
  t_left = 0;
  try {
    work();
    return {};
  } catch (const std::exception& e) {
    if (name == "f32" || interrupted()) throw;
    const std::string module = module_path(t_left), text = in_one_line(e.what());
    return module.empty() ? text : fmt::format("in {}: {}", module, text);
  }
}

FormatResult judged_or_failed(const std::string& name, FunctionRef<FormatResult()> judge) {
  FormatResult f;
  const std::string error = error_of(name, [&] { f = judge(); });
  if (error.empty()) return f;
  f = {};
  f.name = name, f.error = error, f.status = Status::failed;
  return f;
}

void note_memory(StudyResult& s, const std::string& depends) {
  constexpr const char* kBegin = "Measured peaks are not the predicted ones: ";
  std::string which;
  for (const RecipeResult& r : s.recipes)
    if (const Amount& peak = r.bytes.peak; peak.measured && peak.predicted && peak.measured != peak.predicted)
      which += fmt::format("{}{} has {:+} bytes", which.empty() ? "" : ", ", r.name, *peak.measured - *peak.predicted);
  std::erase_if(s.notes, [](const std::string& note) { return note.starts_with(kBegin); });
  if (!which.empty())
    s.notes.push_back(fmt::format("{}{}; {}.", kBegin, which,
                                  depends.empty() ? "what a step allocates depends on values, or on the step" : depends));
}

}  // namespace dyadic::inline v1::study
