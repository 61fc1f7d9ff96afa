#include "dyadic/compile.h"

#include "base/check.h"
#include "corridor/run.h"
#include "graph/steps.h"
#include "graph/window.h"

namespace dyadic::inline v1 {

using namespace graph;

std::shared_ptr<Recording> detail::make_recording(const CompileOptions& options) {
  auto recording = std::make_shared<Recording>();
  recording->steps->options = {options.mode == "reduce-overhead", options.fullgraph, options.check};
  return recording;
}
std::string detail::explain(const Recording& recording) { return recording.explain(); }
std::string detail::dot(const Recording& recording) { return recording.dot(); }
bool detail::replays_steps(const Recording& recording) { return recording.steps->options.whole; }

struct detail::CompiledRun::Whole {
  std::unique_ptr<Recorder> recorder;
  std::vector<Tensor> results;
  // Of a step that is checked.
  Replay* checked = nullptr;
  Replay::Snapshot before;
  StepTrace trace;
};

detail::CompiledRun::CompiledRun(const std::shared_ptr<Recording>& recording, std::span<const Tensor> arguments,
                                 const std::string* key)
    : recording_(recording) {
  if ((t_modes & kDeferring) || t_step_watcher) return;
  Steps& steps = *recording->steps;
  const StepEntry entry{arguments, key ? std::string_view(*key) : std::string_view()};
  const bool whole = steps.options.whole && key && may_replay();
  if (whole && !steps.options.check && replay(entry)) return;
  if (!(open_ = window().open(recording, !whole && !steps.options.fullgraph))) return;
  t_modes |= kDeferring;
  const bool recorded = whole && steps.wants_recording();
  if (!recorded && !steps.options.fullgraph) return;
  whole_ = std::make_unique<Whole>();
  if (recorded && steps.options.check && (whole_->checked = steps.find(entry)))
    whole_->before = whole_->checked->snapshot(entry);
  StepTrace* const trace = whole_->checked ? &whole_->trace : nullptr;
  whole_->recorder = std::make_unique<Recorder>(entry, recorded, steps.options.fullgraph, trace);
  window().watch(whole_->recorder.get());
}

// False: the program runs.
bool detail::CompiledRun::replay(const StepEntry& entry) {
  Steps& steps = *recording_->steps;
  if (recording_->running.exchange(true)) return false;
  const struct Running {
    std::atomic<bool>& flag;
    ~Running() { flag = false; }
  } running{recording_->running};
  Replay* again = steps.find(entry);
  if (!again) return false;
  whole_ = std::make_unique<Whole>();
  whole_->results = again->run(entry);
  ++steps.replayed;
  replayed_ = true;
  return true;
}

std::vector<Tensor>& detail::CompiledRun::results() { return whole_->results; }

void detail::CompiledRun::finish(std::span<const Tensor> results, int holders) {
  if (!std::exchange(open_, false)) return;
  t_modes &= ~uint32_t(kDeferring);
  window().settle();
  window().watch(nullptr);
  window().close();
  if (!whole_) return;
  const std::unique_ptr<Whole> whole = std::move(whole_);
  std::shared_ptr<Step> step = whole->recorder->finish(results, holders);
  whole->recorder.reset();
  if (whole->checked) {
    whole->checked->check(*step, whole->before, whole->trace);
    ++recording_->steps->checked;
  } else if (step) {
    recording_->steps->add(std::move(step));
  }
}

detail::CompiledRun::~CompiledRun() {
  if (!std::exchange(open_, false)) return;
  t_modes &= ~uint32_t(kDeferring);
  if (whole_) window().watch(nullptr), whole_->recorder.reset();
  try {
    window().close();
  } catch (...) {  // out of memory: whoever reads what is missing hears of it
  }
}

}  // namespace dyadic::inline v1
