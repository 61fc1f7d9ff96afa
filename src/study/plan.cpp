// What dyadic/plan.h offers.
#include "dyadic/plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"
#include "dyadic/ops.h"
#include "plan/forward.h"
#include "study/memory_plan.h"
#include "study/numbers.h"
#include "study/own_subject.h"
#include "study/recipe_apply.h"
#include "study/text_table.h"

namespace dyadic::inline v1 {

int64_t MemoryPlan::least(bool allowed) const {
  int64_t least = INT64_MAX;
  for (const PlanCandidate& c : candidates)
    if (c.allowed || !allowed) least = std::min(least, c.peak());
  return least;
}

// What would have to be allowed for the limit, or for the least of all.
static std::string way_out(const MemoryPlan& p) {
  const PlanCandidate* best = nullptr;
  for (const PlanCandidate& c : p.candidates)
    if (!c.allowed && c.fits && !best) best = &c;
  std::string words;
  if (best && best->accumulate > 1) words = "accumulation";
  if (best && best->states != p.states) words += words.empty() ? "states" : " and states";
  if (best) return fmt::format("; allowing {} it fits ({}: other bits)", words, best->name);
  if (p.least(false) < p.least())
    return fmt::format("; with all that changes roundings allowed the least is {} bytes", p.least(false));
  return "; take a smaller batch or model";
}

const PlanCandidate& MemoryPlan::chosen() const {
  DY_CHECK_AS(OutOfMemoryError, fits(),
              "plan: {} bytes of memory are too few: the least that training takes is {} bytes ({}){}", limit, least(),
              study::bytes_text(least()), way_out(*this));
  return candidates[size_t(chosen_index)];
}

// Whether the table shows it: what is chosen, of what is allowed those that are clearly smaller than the one before, of what is
// only offered the smallest of each number of pieces.
static std::vector<bool> shown(const MemoryPlan& p) {
  std::vector<bool> show(p.candidates.size());
  double before = HUGE_VAL;
  std::map<std::pair<int64_t, const Format*>, size_t> offered;
  for (size_t i = 0; i < p.candidates.size(); ++i) {
    const PlanCandidate& c = p.candidates[i];
    if (!c.allowed) {
      offered[{c.accumulate, c.states.format()}] = i;
      continue;
    }
    show[i] = int(i) == p.chosen_index || c.peak() == p.least() || double(c.peak()) < 0.97 * before;
    if (show[i]) before = double(c.peak());
  }
  for (auto& [what, i] : offered) show[i] = true;
  return show;
}

std::string MemoryPlan::text(int width, bool color) const {
  using study::bytes_text;
  study::TextTable t;
  t.columns = {{"way", true, 0},     {"ms/step", false, 0},   {"params", false, 1}, {"grads", false, 2}, {"states", false, 1},
               {"activ.", false, 0}, {"workspace", false, 3}, {"peak", false, 0},   {"bits", true, 0},   {"fits", false, 0}};
  const std::vector<bool> show = shown(*this);
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!show[i]) continue;
    const PlanCandidate& c = candidates[i];
    const study::Bytes& b = c.bytes;
    t.rows.push_back({c.name, study::milliseconds_text(c.seconds * 1e3), bytes_text(b.parameters.predicted),
                      bytes_text(b.gradients.predicted), bytes_text(b.optimizer.predicted), bytes_text(b.activations.predicted),
                      bytes_text(b.workspace.predicted), bytes_text(b.peak.predicted),
                      c.exact     ? "same"
                      : c.allowed ? "other"
                                  : "other, not asked for",
                      c.fits ? "yes" : "no"});
    t.styles.push_back(int(i) == chosen_index ? "\033[1m" : "");
  }
  std::string text = t.text(width, color) + "\n";
  if (!fits())
    return text + fmt::format("Nothing fits into {}: the least is {} bytes{}.\n", bytes_text(limit), least(), way_out(*this));
  const PlanCandidate& c = chosen();
  return text + (limit ? fmt::format("Fastest in {}: {}, {} at the peak.\n", bytes_text(limit), c.name, bytes_text(c.peak()))
                       : fmt::format("Fastest: {}; the least it can be trained in is {} bytes.\n", c.name, least()));
}

MemoryPlan plan(const study::MakeModel& make_model, const data::Value& batch, const PlanOptions& o) {
  DY_CHECK_AS(ValueError, o.memory_limit >= 0, "plan: the limit is a number of bytes or 0 for none, not {}", o.memory_limit);
  study::check_recipe(o.recipe);
  study::StudyOptions as_study;
  as_study.optimizer = o.optimizer;
  as_study.optimizer_options = o.optimizer_options;
  study::OwnSubject subject(make_model, batch, o.loss, as_study);
  study::Plan training;
  training.offload_folder = o.offload_folder;
  return study::plan_training(subject, o.recipe, training, o.memory_limit, study::Allowed::parse(o.allow));
}

Recomputing::Recomputing(const PlanCandidate& c) : choice_(c.choice) {
  if (choice_) forward_ = std::make_unique<planning::Forward>(*choice_, c.offload_folder);
}
Recomputing::~Recomputing() = default;

}  // namespace dyadic::inline v1
